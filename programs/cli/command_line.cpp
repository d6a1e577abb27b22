// SPDX-License-Identifier: MIT
// What every program has in common, compiled once: most of CLI11 is in here.
#include "cli/command_line.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <lexformer/io/json.hpp>
#include <map>
#include <new>
#include <utility>

namespace program {

namespace {

/// All options of a program, including those of its groups.
std::vector<const CLI::Option*> all_options(const CLI::App& app) {
  auto options = app.get_options();
  for (const CLI::App* group : app.get_subcommands({}))
    for (const CLI::Option* option : all_options(*group)) options.push_back(option);
  return options;
}

/// A suggestion for an unknown option: the equivalent of an option of HuggingFace's trainers, else the nearest name. Both begin with "--".
std::string instead_of(const CLI::App& app, const std::string& unknown) {
  static const std::vector<std::pair<std::string, std::string>> theirs = {{"adam_weight_decay", "--weight-decay"},
                                                                          {"bf16", "--precision"},
                                                                          {"do_lower_case", "--cased"},
                                                                          {"fp16", "--precision"},
                                                                          {"gradient_accumulation_steps", "--accumulate"},
                                                                          {"label_names", "--labels"},
                                                                          {"learning_rate", "--lr"},
                                                                          {"lr_scheduler_type", "--schedule"},
                                                                          {"max_grad_norm", "--clip"},
                                                                          {"max_seq_length", "--max-length"},
                                                                          {"mlm_probability", "--mask-probability"},
                                                                          {"model_name_or_path", "--model"},
                                                                          {"num_epochs", "--epochs"},
                                                                          {"num_train_epochs", "--epochs"},
                                                                          {"output_dir", "--out"},
                                                                          {"overwrite_output_dir", "--overwrite"},
                                                                          {"per_device_eval_batch_size", "--eval-batch"},
                                                                          {"per_device_train_batch_size", "--batch"},
                                                                          {"resume_from_checkpoint", "--resume"},
                                                                          {"test_file", "--test"},
                                                                          {"train_file", "--train"},
                                                                          {"train_file", "--text"},
                                                                          {"validation_file", "--valid"},
                                                                          {"warmup_ratio", "--warmup"},
                                                                          {"warmup_ratio", "--warmup-epochs"},
                                                                          {"warmup_steps", "--warmup"},
                                                                          {"warmup_steps", "--warmup-epochs"}};
  std::string name = unknown.substr(2);
  std::replace(name.begin(), name.end(), '-', '_');
  for (const auto& [other, ours] : theirs)
    if (other == name && app.get_option_no_throw(ours) != nullptr) return "; here it is called " + ours;
  std::vector<std::string> names;
  for (const CLI::Option* option : all_options(app))
    for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
  return lx::did_you_mean(unknown, names);
}

/// The arguments to parse, and the file that an option is from.
struct Arguments {
  std::vector<std::string> list;
  std::map<std::string, std::string> file;  // "--lr" -> the file of --config

  /// The message, preceded by the file if the option is from that file.
  std::string with_file(const std::string& message) const {
    for (const auto& [option, name] : file) {
      const auto at = message.find(option);
      const auto end = at + option.size();
      if (at == message.npos ||
          (end < message.size() && (std::isalnum(static_cast<unsigned char>(message[end])) != 0 || message[end] == '-')))
        continue;
      return lx::cat(name, ": ", lx::in_quotes(option.substr(2)), ": ", message);
    }
    return message;
  }
};

/// Replaces "--config FILE" by those options of that JSON object, {"lr": 1e-5, "test": ["a.tsv", "b.tsv"], "augment": true}, which are not
/// on the command line. They come last: a list before arguments without a name, as tables, would take these for its own.
void expand_config(const CLI::App& app, Arguments& arguments) {
  auto& given = arguments.list;
  std::vector<std::string> from_file;
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
      if (option == nullptr || key == "config")
        lx::fail_usage(file, lx::in_quotes(key), ": there is no such option", instead_of(app, "--" + key), " (--help lists the options)");
      const auto names = option->get_lnames();  // --seed and --seeds are one option
      const bool on_command_line = std::any_of(given.begin(), given.end(), [&](const std::string& a) {
        return std::any_of(names.begin(), names.end(), [&](const auto& n) { return a == "--" + n || a.starts_with("--" + n + "="); });
      });
      if (on_command_line || value == false) continue;
      from_file.push_back("--" + key);
      arguments.file["--" + key] = file;
      const auto add = [&](const lx::Json& v) {
        if (v.is_structured() || v.is_null())
          lx::fail_file(file, lx::in_quotes(key), ": the value is ", v.type_name(),
                        ", expected a string, a number, true, false or a list of these");
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
  given.insert(std::find(given.begin(), given.end(), "--"), from_file.begin(), from_file.end());
}

/// Refuses arguments that are not UTF-8 (results contain file names as JSON) and unknown options, for which the parser's messages are
/// less clear.
void check_arguments(const CLI::App& app, const std::vector<std::string>& given) {
  for (const std::string& argument : given)
    if (lx::to_utf8(lx::to_utf32(argument)) != argument)
      lx::fail_usage("command line", "the argument '", argument, "' is not UTF-8; rename the file, or use a link with another name");
  for (const std::string& argument : given) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && app.get_option_no_throw(name) == nullptr)
      lx::fail_usage(name, "there is no such option", instead_of(app, name), " (--help lists the options)");
  }
}

/// Refuses empty file and folder names.
void check_paths(const CLI::App& app) {
  for (const CLI::Option* option : all_options(app)) {
    const std::string kind = option->get_type_name();
    if (kind != "F" && kind != "DIR" && kind.find('.') == kind.npos && kind.find('=') == kind.npos) continue;
    const auto& given = option->results();
    if (std::find(given.begin(), given.end(), "") != given.end()) lx::fail_usage(option->get_name(), "the name is empty");
  }
}

/// A program names its options before run() can catch anything: this is how it ends if there is no memory for them.
const std::terminate_handler other_ends = std::set_terminate([] {
  try {
    if (const auto thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);  // unbuffered, allocates nothing
    std::_Exit(static_cast<int>(lx::ErrorKind::failure));
  } catch (...) {
  }
  other_ends();
});

#if defined(__x86_64__) && defined(__AVX2__)
/// Built for processors with AVX2 or AVX-512. Runs before everything else, which would end with "illegal instruction" on an older one.
__attribute__((constructor(101))) void check_processor() {
  __builtin_cpu_init();
#if defined(__AVX512F__)
  if (__builtin_cpu_supports("avx512f") != 0) return;
#else
  if (__builtin_cpu_supports("avx2") != 0) return;
#endif
  constexpr std::string_view message =
      ": this program was built for newer processors than this one; build it here, or for all processors, with LEXFORMER_NATIVE=OFF and "
      "without -march\n";
  std::fputs(program_invocation_short_name, stderr);
  std::fwrite(message.data(), 1, message.size(), stderr);
  std::_Exit(static_cast<int>(lx::ErrorKind::failure));
}
#endif

}  // namespace

std::map<std::string, const Command*>& Command::all() {
  static std::map<std::string, const Command*> commands;
  return commands;
}

Command::Command(std::string command, Group of, std::string about, int (*main)(int, char**))
    : name(std::move(command)), group(of), summary(std::move(about)), run(main) {
  all()[name] = this;
}

int run(CLI::App& app, int argc, char** argv, const std::function<int()>& body) {
  app.set_version_flag(
      "--version", [] { return lx::cat("lexformer ", LEXFORMER_VERSION, " (matrix products: ", lx::name_of(lx::instructions()), ")"); });
  std::string unused;
  app.add_option("--config", unused, "a JSON file with an object of options; the command line overrides it")->type_name("FILE");
  app.get_formatter()->column_width(36);
  std::signal(SIGXFSZ, SIG_IGN);  // so that exceeding the file size limit is an error with a message
  Arguments arguments{{argv + 1, argv + argc}, {}};
  const auto say = [&](const std::string& message, lx::ErrorKind kind) {
    std::cerr << app.get_name() << ": " << lx::one_line(message) << "\n";
    return static_cast<int>(kind);
  };
  try {
    // A failed write stops the program; running out of memory for a line is not the end of the input.
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    std::cin.exceptions(std::ios::badbit);
    std::cerr.tie(nullptr);  // a message must not depend on standard output
    check_arguments(app, arguments.list);
    expand_config(app, arguments);
    int code = 0;
    try {
      app.parse(std::vector<std::string>(arguments.list.rbegin(), arguments.list.rend()));  // reversed, as CLI11 wants it
      check_paths(app);
      code = body();
    } catch (const CLI::Success& e) {  // --help, --version
      code = app.exit(e);
    }
    if (std::ferror(stdin) != 0) lx::fail_file("standard input", "cannot be read to its end");
    std::cout.flush();
    return code;
  } catch (const CLI::ExtrasError&) {
    return say("'" + app.remaining(true).front() + "' is neither an option nor the value of one (--help lists the options)",
               lx::ErrorKind::usage);
  } catch (const CLI::ParseError& e) {
    return say(arguments.with_file(e.what()) + " (--help lists the options)", lx::ErrorKind::usage);
  } catch (const lx::Error& e) {
    return say(e.kind() == lx::ErrorKind::usage ? arguments.with_file(e.what()) : e.what(), e.kind());
  } catch (const std::bad_alloc&) {
    return say("out of memory; a smaller --batch or --max-length needs less", lx::ErrorKind::failure);
  } catch (const std::filesystem::filesystem_error& e) {
    return say(e.path1().string() + ": " + e.code().message(), lx::ErrorKind::file);
  } catch (const lx::Json::exception& e) {
    return say(std::string("unexpected content of a JSON file: ") + e.what(), lx::ErrorKind::file);
  } catch (const std::exception& e) {
    if (!std::cout) return say("standard output: cannot be written", lx::ErrorKind::file);
    const bool stream = dynamic_cast<const std::ios_base::failure*>(&e) != nullptr;
    return say(stream ? std::string("a file cannot be read or written: ") + e.what() : e.what(),
               stream ? lx::ErrorKind::file : lx::ErrorKind::failure);
  }
}

void keep_inputs(const std::string& option, const std::string& output, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::error_code none;
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    std::vector<fs::path> files{input};
    for (const char* name : {"model.lxf", "config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "model.safetensors",
                             "model.safetensors.index.json", "modules.json"})
      files.push_back(fs::path(input) / name);
    for (const auto& file : files)
      if (fs::is_regular_file(file, none) && fs::equivalent(file, output, none))
        lx::fail_usage(option, output, " is also an input and would be overwritten; name another file");
  }
}

void check_folder(const std::string& output) {
  const auto folder = std::filesystem::path(output).parent_path();
  std::error_code none;
  if (!folder.empty() && !std::filesystem::is_directory(folder, none))
    lx::fail_file(output, "cannot be written: there is no folder ", folder.string());
}

CLI::Validator positive() {
  return {[](const std::string& text) {
            double x = 0;
            return CLI::detail::lexical_cast(text, x) && !(x > 0) ? "must be above 0, got " + text : std::string();
          },
          "POSITIVE", "positive"};
}
CLI::Validator non_negative() {
  return {[](const std::string& text) {
            double x = 0;
            return CLI::detail::lexical_cast(text, x) && !(x >= 0) ? "must not be below 0, got " + text : std::string();
          },
          "NONNEGATIVE", "non_negative"};
}
CLI::Validator finite() {
  return {[](const std::string& text) {
            double x = 0;
            return CLI::detail::lexical_cast(text, x) && !std::isfinite(x) ? "must be finite, got " + text : std::string();
          },
          "FINITE", "finite"};
}

CLI::Validator one_of(std::vector<std::string> names) {
  return {[names = std::move(names)](const std::string& given) {
            const bool known = std::find(names.begin(), names.end(), given) != names.end();
            return known ? "" : lx::in_quotes(given) + " is not known; use one of: " + lx::join(names) + lx::did_you_mean(given, names);
          },
          "NAME", "one_of"};
}

}  // namespace program
