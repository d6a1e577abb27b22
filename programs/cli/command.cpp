// SPDX-License-Identifier: MIT
// Shared by every command, compiled once.
#include "cli/command.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <lexformer/io/json.hpp>
#include <new>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/documentation.hpp"

namespace program {

namespace {

using lx::Option;

/// A suggestion for an unknown option: the equivalent of an option of HuggingFace's trainers, else the nearest name.
std::string instead_of(const OptionVisitor& options, const std::string& unknown) {
  static const std::vector<std::pair<std::string, std::string>> theirs = {{"adam_weight_decay", "weight_decay"},
                                                                          {"bf16", "precision"},
                                                                          {"do_lower_case", "cased"},
                                                                          {"fp16", "precision"},
                                                                          {"gradient_accumulation_steps", "accumulate"},
                                                                          {"label_names", "labels"},
                                                                          {"learning_rate", "lr"},
                                                                          {"lr_scheduler_type", "schedule"},
                                                                          {"max_grad_norm", "clip"},
                                                                          {"max_seq_length", "max_length"},
                                                                          {"mlm_probability", "mask_probability"},
                                                                          {"model_name_or_path", "model"},
                                                                          {"num_epochs", "epochs"},
                                                                          {"num_train_epochs", "epochs"},
                                                                          {"output_dir", "out"},
                                                                          {"overwrite_output_dir", "overwrite"},
                                                                          {"per_device_eval_batch_size", "eval_batch"},
                                                                          {"per_device_train_batch_size", "batch"},
                                                                          {"resume_from_checkpoint", "resume"},
                                                                          {"test_file", "test"},
                                                                          {"train_file", "train"},
                                                                          {"train_file", "text"},
                                                                          {"validation_file", "valid"},
                                                                          {"warmup_ratio", "warmup"},
                                                                          {"warmup_ratio", "warmup_epochs"},
                                                                          {"warmup_steps", "warmup"},
                                                                          {"warmup_steps", "warmup_epochs"}};
  std::string name = unknown;
  std::replace(name.begin(), name.end(), '-', '_');
  for (const auto& [other, ours] : theirs)
    if (const Option* option = other == name ? options.find(ours) : nullptr) return "; here it is called " + flag_of(*option);
  std::vector<std::string> names{"--help", "--version", "--config"};
  for (const Option& option : options.options())
    if (!option.is_positional) names.push_back(flag_of(option));
  return lx::did_you_mean("--" + unknown, names);
}

/// The arguments to parse, and the file that an option is from.
struct Arguments {
  std::vector<std::string> list;
  std::map<std::string, std::string> file;  // "--lr" -> the file of --config

  std::vector<std::string> configs;  // the files of --config

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

/// The option that an argument or a key of a file names, or null.
const Option* find_option(const OptionVisitor& options, std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return options.find(name);
}

/// Replaces "--config FILE" by those options of that JSON object, {"lr": 1e-5, "test": ["a.tsv", "b.tsv"], "augment": true}, which are not
/// on the command line. They come last: a list before arguments without a name, as tables, would take these for its own.
void expand_config(const OptionVisitor& options, Arguments& arguments) {
  auto& given = arguments.list;
  std::vector<std::string> from_file;
  for (std::size_t i = 0; i < given.size(); ++i) {
    std::string file;
    if (given[i] == "--config" && i + 1 < given.size())
      file = given[i + 1];
    else if (given[i].starts_with("--config="))
      file = given[i].substr(9);
    else if (given[i] != "--config")
      continue;
    if (file.empty()) lx::fail_usage("--config", "needs the name of a JSON file");
    arguments.configs.push_back(file);
    const lx::Json json = lx::parse_json(lx::read_file(file), file);
    if (!json.is_object()) lx::fail_file(file, "expected a JSON object of options");
    for (const auto& item : json.items()) {
      const std::string& key = item.key();
      const lx::Json& value = item.value();
      const Option* option = find_option(options, key);
      if (option == nullptr || option->kind == Option::Kind::counts)
        lx::fail_usage(file, lx::in_quotes(key), ": there is no such option", instead_of(options, key), " (--help lists the options)");
      const std::string flag = flag_of(*option);
      const bool on_command_line = std::any_of(given.begin(), given.end(), [&](const std::string& a) {
        return a.starts_with("--") && find_option(options, a.substr(2, a.find('=') - 2)) == option;
      });
      if (on_command_line || value == false) continue;
      if (!option->is_positional) from_file.push_back(flag);
      arguments.file[flag] = file;
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
void check_arguments(const OptionVisitor& options, const std::vector<std::string>& given) {
  for (const std::string& argument : given)
    if (lx::to_utf8(lx::to_utf32(argument)) != argument)
      lx::fail_usage("command line", "the argument '", argument, "' is not UTF-8; rename the file, or use a link with another name");
  for (const std::string& argument : given) {
    if (argument == "--") break;
    if (!argument.starts_with("--")) continue;
    const std::string name = argument.substr(2, argument.find('=') - 2);
    const bool common = name == "help" || name == "version" || name == "config";
    const Option* option = name.find('_') == name.npos ? find_option(options, name) : nullptr;
    if (!common && (option == nullptr || option->is_positional))
      lx::fail_usage("--" + name, "there is no such option", instead_of(options, name), " (--help lists the options)");
  }
}

/// Whether two names are of one file, which need not exist yet.
bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  namespace fs = std::filesystem;
  std::error_code none;
  return fs::equivalent(a, b, none) ||
         fs::weakly_canonical(fs::absolute(a, none), none) == fs::weakly_canonical(fs::absolute(b, none), none);
}

/// Refuses an output that is also an input; an input folder means the model files in it.
void refuse_overwriting(const std::string& option, const std::string& output, const std::vector<std::string>& inputs) {
  namespace fs = std::filesystem;
  std::error_code none;
  for (const std::string& input : inputs) {
    if (input.empty()) continue;
    std::vector<fs::path> files{input};
    for (const char* name : {"model.lxf", "config.json", "vocab.txt", "tokenizer.json", "tokenizer_config.json", "model.safetensors",
                             "model.safetensors.index.json", "modules.json"})
      files.push_back(fs::path(input) / name);
    for (const auto& file : files)
      if (fs::is_regular_file(file, none) && same_file(file, output))
        lx::fail_usage(option, output, " is also an input and would be overwritten; name another file");
  }
}

/// The names of files of an option that are not empty, without the names of NAME=FILE.
std::vector<std::string> files_of(const Option& option) {
  const bool many = option.kind == Option::Kind::texts;
  auto all = many ? option.as<std::vector<std::string>>() : std::vector<std::string>{option.as<std::string>()};
  std::erase(all, "");
  if (option.is_named)
    for (auto& name : all)
      if (!lx::path_exists(name)) name.erase(0, name.find('=') + 1);
  return all;
}

/// The files that an option writes.
std::vector<std::string> written_by(const Option& output) {
  const bool folder = output.role == Option::Role::folder;
  std::vector<std::string> files;
  for (const std::string& path : files_of(output)) {
    if (!folder) files.push_back(path);
    for (const auto& name : output.written) files.push_back(lx::cat(path, folder ? "/" : "", name));
  }
  return files;
}

/// Refuses an output that is an input or another output, or cannot be made, before the work for it is done.
void check_output(const OptionVisitor& options, const std::vector<std::string>& configs, const Option& output) {
  for (const std::string& path : output.role == Option::Role::folder ? std::vector<std::string>{} : files_of(output)) {
    const auto folder = std::filesystem::path(path).parent_path();
    if (!folder.empty() && !lx::is_folder(folder)) lx::fail_file(path, "cannot be written: there is no folder ", folder.string());
  }
  const std::string flag = flag_of(output);
  for (const std::string& file : written_by(output)) {
    refuse_overwriting(flag, file, configs);
    for (const Option& other : options.options()) {
      if (other.role == Option::Role::input) refuse_overwriting(flag, file, files_of(other));
      if (other.role != Option::Role::output || &other >= &output) continue;
      for (const std::string& same : written_by(other))
        if (same_file(file, same) && !std::filesystem::is_fifo(file) && !std::filesystem::is_character_file(file))
          lx::fail_usage(flag, file, " is also written by ", flag_of(other), "; name another file");
    }
  }
}

/// Rules of the descriptions about several options, checked when all values are known.
void check_options(const OptionVisitor& options, const std::vector<std::string>& configs) {
  for (const Option& option : options.options()) {
    if (!option.is_given) continue;
    const std::string flag = flag_of(option);
    if (option.role != Option::Role::setting) {
      const bool many = option.kind == Option::Kind::texts;
      if (files_of(option).size() < (many ? option.as<std::vector<std::string>>().size() : 1)) lx::fail_usage(flag, "the name is empty");
    }
    for (const auto& other : option.needed)
      if (!options.given(other)) lx::fail_usage(flag, "needs ", flag_of(*options.find(other)));
    for (const auto& other : option.excluded)
      if (options.given(other)) lx::fail_usage(flag, "cannot be used with ", flag_of(*options.find(other)));
    if (!option.unused.empty()) lx::fail_usage(flag, with_flags(options, option.unused));
  }
  for (const Option& option : options.options())
    if (option.role == Option::Role::output || option.role == Option::Role::folder) check_output(options, configs, option);
}

/// The library names settings as they are in files: "int8_skip: ... `int8`" is said as "--int8-skip: ... --int8".
std::string with_flag(const OptionVisitor& options, const std::string& message) {
  const std::string name = message.substr(0, message.find(": "));
  const Option* const option = options.find(name);
  return with_flags(options, option == nullptr ? message : flag_of(*option) + message.substr(name.size()));
}

/// Reads the arguments, visits the options again, now that all values are known, and runs the command.
int run_with(Command& command, OptionVisitor& options, const std::string& shown, const std::string& about, const Arguments& arguments) {
  switch (read_command_line(options, arguments.list)) {
    case Asked::help:
      std::cout << help_of(shown, about, options);
      return 0;
    case Asked::version:
      std::cout << version_line();
      return 0;
    case Asked::run:
      break;
  }
  OptionVisitor known;
  command.visit(known);
  for (Option& option : known.options()) option.is_given = options.given(option.name);
  command.parsed = &known;
  check_options(known, arguments.configs);
  if (command.threads > 0) lx::set_threads(command.threads);
  return command.run();
}

/// Commands are listed before main() can catch anything: this is how the program ends if there is no memory for them.
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

std::map<std::string, CommandEntry>& commands() {
  static std::map<std::string, CommandEntry> all;
  return all;
}

std::string version_line() {
  return lx::cat("lexformer ", LEXFORMER_VERSION, " (matrix products: ", lx::name_of(lx::instructions()), ")\n");
}

int run(Command& command, const std::string& shown, const std::string& about, const std::vector<std::string>& given) {
  std::signal(SIGXFSZ, SIG_IGN);  // so that exceeding the file size limit is an error with a message
  Arguments arguments{given, {}, {}};
  OptionVisitor options;
  const auto say = [&](const std::string& message, lx::ErrorKind kind) {
    std::cerr << shown << ": " << lx::one_line(message) << "\n";
    return static_cast<int>(kind);
  };
  try {
    // A failed write stops the program; running out of memory for a line is not the end of the input.
    std::cout.exceptions(std::ios::badbit | std::ios::failbit);
    std::cin.exceptions(std::ios::badbit);
    std::cerr.tie(nullptr);  // a message must not depend on standard output
    command.visit(options);
    check_arguments(options, arguments.list);
    expand_config(options, arguments);
    const int code = run_with(command, options, shown, about, arguments);
    if (std::ferror(stdin) != 0) lx::fail_file("standard input", "cannot be read to its end");
    std::cout.flush();
    return code;
  } catch (const lx::Error& e) {
    return say(e.kind() == lx::ErrorKind::usage ? arguments.with_file(with_flag(options, e.what())) : with_flags(options, e.what()),
               e.kind());
  } catch (const std::bad_alloc&) {
    std::vector<std::string> smaller;
    for (const char* name : {"batch", "max_length", "candidates", "top", "resamples", "count"})
      if (const Option* option = options.find(name)) smaller.push_back(flag_of(*option));
    return say(smaller.empty() ? "out of memory" : lx::cat("out of memory; a smaller ", lx::join(smaller, " or "), " needs less"),
               lx::ErrorKind::failure);
  } catch (const std::filesystem::filesystem_error& e) {
    return say(e.path1().string() + ": " + e.code().message(), lx::ErrorKind::file);
  } catch (const lx::Json::exception& e) {
    return say("unexpected content of a JSON file: " + lx::json_reason(e), lx::ErrorKind::file);
  } catch (const std::exception& e) {
    if (!std::cout) return say("standard output: cannot be written", lx::ErrorKind::file);
    const bool stream = dynamic_cast<const std::ios_base::failure*>(&e) != nullptr;
    return say(stream ? std::string("a file cannot be read or written: ") + e.what() : e.what(),
               stream ? lx::ErrorKind::file : lx::ErrorKind::failure);
  }
}

}  // namespace program
