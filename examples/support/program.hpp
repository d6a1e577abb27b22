// SPDX-License-Identifier: MIT
// What the programs share: options from a JSON file, exit codes, signals.
#pragma once

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <functional>
#include <iostream>
#include <lexformer/lexformer.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace program {

enum class Device { cpu, cuda };
enum class Precision { float32, tf32, bfloat16 };

/// What computes, and in which numbers.
struct Compute {
  Device device = Device::cpu;
  Precision precision = Precision::float32;
};

}  // namespace program

template <>
inline constexpr auto lexformer::names_of<program::Device> =
    std::to_array<lexformer::Named<program::Device>>({{"cpu", program::Device::cpu}, {"cuda", program::Device::cuda}});
template <>
inline constexpr auto lexformer::names_of<program::Precision> = std::to_array<lexformer::Named<program::Precision>>(
    {{"float32", program::Precision::float32}, {"tf32", program::Precision::tf32}, {"bfloat16", program::Precision::bfloat16}});

namespace program {

namespace lx = lexformer;

/// A text that grows by <<. Throws std::bad_alloc, where a plain std::ostringstream would go on with a part missing.
struct StringWriter : std::ostringstream {
  StringWriter() { exceptions(std::ios::badbit); }
};

/// Set by SIGINT and SIGTERM; a training loop looks at it after each step, saves and leaves with 130.
inline volatile std::sig_atomic_t interrupted = 0;

inline void catch_signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { interrupted = 1; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

/// Replaces "--config FILE" by the options in that JSON object, {"lr": 1e-5, "test": ["a.tsv", "b.tsv"], "augment": true}. They
/// come first, so that an option on the command line wins.
inline std::vector<std::string> expand_config(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> given(argv + 1, argv + argc), from_file;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string file;
    if (given[i] == "--config" && i + 1 < given.size()) file = given[i + 1];
    if (given[i].starts_with("--config=")) file = given[i].substr(9);
    if (file.empty()) continue;
    const lx::Json json = lx::parse_json(lx::read_file(file), file);
    if (!json.is_object()) lx::fail_file(file, "expected a JSON object of options");
    for (const auto& item : json.items()) {
      const std::string& key = item.key();
      const lx::Json& value = item.value();
      const CLI::Option* option = app.get_option_no_throw("--" + key);
      const std::vector<std::string> names = option != nullptr ? option->get_lnames() : std::vector{key};  // --seed is --seeds, too
      const bool on_command_line = std::any_of(given.begin(), given.end(), [&](const std::string& a) {
        return std::any_of(names.begin(), names.end(), [&](const auto& n) { return a == "--" + n || a.starts_with("--" + n + "="); });
      });
      if (on_command_line || value == false) continue;
      from_file.push_back("--" + key);
      const auto add = [&](const lx::Json& v) {
        if (v.is_structured()) lx::fail_file(file, "the value of '", key, "' is neither a text, a number, true, false nor a list of these");
        from_file.push_back(v.is_string() ? v.get<std::string>() : v.dump());
      };
      if (value.is_array())
        for (const auto& v : value) add(v);
      else if (value != true)
        add(value);
    }
    const auto first = given.begin() + static_cast<std::ptrdiff_t>(i);
    given.erase(first, first + (given[i] == "--config" ? 2 : 1));
    --i;
  }
  from_file.insert(from_file.end(), given.begin(), given.end());
  return from_file;
}

/// Parses the command line, runs the body, and turns every error into one line and an exit code: 0 done, 1 failed, 2 wrong usage,
/// 3 a bad file, 4 not finite, 130 interrupted and saved.
inline int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  app.set_version_flag("--version", std::string("lexformer ") + LEXFORMER_VERSION);
  std::string unused;
  app.add_option("--config", unused, "a JSON object with options by their names; the command line wins")->type_name("FILE");
  app.get_formatter()->column_width(36);
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error with a message, not the end
  try {
    // Where nothing can be written, nothing more is computed; a line for which there is no memory is not the end of the input.
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    std::cin.exceptions(std::ios::badbit);
    std::cerr.tie(nullptr);  // a message needs no standard output
    auto arguments = expand_config(app, argc, argv);
    std::reverse(arguments.begin(), arguments.end());  // as CLI11 wants it
    int code = 0;
    try {
      app.parse(arguments);
      code = body();
    } catch (const CLI::Success& e) {  // --help, --version
      code = app.exit(e);
    }
    if (std::ferror(stdin) != 0) lx::fail_file("standard input", "cannot be read to its end");
    std::cout.flush();
    return code;
  } catch (const CLI::ParseError& e) {
    std::cerr << app.get_name() << ": " << e.what() << " (--help lists the options)\n";
    return 2;
  } catch (const lx::Error& e) {
    std::cerr << app.get_name() << ": " << e.what() << "\n";
    return e.exit_code();
  } catch (const std::bad_alloc&) {
    std::cerr << app.get_name() << ": out of memory; a smaller --batch or --max-length needs less\n";
    return 1;
  } catch (const std::exception& e) {
    std::cerr << app.get_name() << ": " << (std::cout ? e.what() : "standard output: cannot be written") << "\n";
    return static_cast<int>(std::cout ? lx::ErrorKind::failure : lx::ErrorKind::file);
  }
}

/// Numbers above 0, and from 0 on. (CLI11's own print the range of all doubles, 300 digits each.) What is no number the option refuses.
inline CLI::Validator positive() {
  return {[](const std::string& text) {
            double x = 0;
            return CLI::detail::lexical_cast(text, x) && !(x > 0) ? "must be above 0, got " + text : std::string();
          },
          "POSITIVE", "positive"};
}
inline CLI::Validator non_negative() {
  return {[](const std::string& text) {
            double x = 0;
            return CLI::detail::lexical_cast(text, x) && !(x >= 0) ? "must not be below 0, got " + text : std::string();
          },
          "NONNEGATIVE", "non_negative"};
}

/// An option whose value is one of an enum's names.
template <class E>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, E& value, const std::string& text) {
  return app
      .add_option_function<std::string>(
          flag, [&value, flag](const std::string& name) { value = lx::parse_name<E>(name, flag); }, text + ": " + lx::list_names<E>())
      ->default_str(lx::name_of(value));
}

inline void add_compute(CLI::App& app, Compute& compute) {
  add_choice(app, "--device", compute.device, "what computes");
  add_choice(app, "--precision", compute.precision, "of numbers; bfloat16 ones are stored so, and added up in float");
}

#if defined(LEXFORMER_WITH_CUDA)
inline constexpr bool with_cuda = true;
#else
inline constexpr bool with_cuda = false;  // nothing is instantiated for the device: half the time to compile
#endif

/// f(T(), Dev()) with T = float or lx::bfloat16 and Dev = lx::Cpu or, in a build with CUDA, lx::Cuda.
template <class F>
auto compute_with(const Compute& compute, F&& f) {
  if (compute.precision == Precision::tf32 && compute.device == Device::cpu)
    lx::fail_usage("--precision", "tf32 is a precision of GPUs; with --device cpu use float32 or bfloat16");
  const auto with = [&](auto device) { return compute.precision == Precision::bfloat16 ? f(lx::bfloat16(), device) : f(float(), device); };
  if constexpr (with_cuda) {
    lx::cuda::set_tf32(compute.precision == Precision::tf32);
    if (compute.device == Device::cuda) return with(lx::Cuda());
  } else if (compute.device == Device::cuda) {
    lx::fail("--device", "this build of lexformer has no CUDA; configure with -DLEXFORMER_CUDA=ON and build again, or use --device cpu");
  }
  return with(lx::Cpu());
}

inline void add_threads(CLI::App& app) {
  app.add_option_function<int>(
         "--threads", [](int n) { lx::set_threads(n); }, "threads; the results do not depend on it")
      ->check(CLI::Range(1, 1024))
      ->default_str("all cores");
}

/// How pair tables are read: columns and header.
inline void add_table_options(CLI::App& app, lx::TableOptions& table) {
  app.add_option("--columns", table.columns, "left,right,label: names of columns, or numbers from 1")->delimiter(',');
  add_choice(app, "--header", table.header, "whether tables begin with a header");
}

}  // namespace program
