#include "headgate/cli/help/completion.h"

#include <string_view>

namespace headgate::cli {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

// The names of the commands, or of a command's options.
std::string names_of(const std::vector<CommandText>& commands) {
  std::vector<std::string> names;
  for (const CommandText& command : commands) names.push_back(command.name);
  return joined(names);
}

std::string names_of(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& option : command.options) {
    if (!option.positional()) names.push_back(joined(option.names));
  }
  return joined(names);
}

bool is_file(const OptionText& option) { return option.value == "FILE" || option.value == "LOG"; }
bool is_directory(const OptionText& option) { return option.value == "DIR"; }

// A text in single quotes, as all three shells read it. Fish also gives \ a meaning in them.
std::string shell_word(std::string_view text, bool backslash = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
    } else if (c == '\\' && backslash) {
      out += "\\\\";
    } else {
      out += c;
    }
  }
  return out + '\'';
}

// The first words of what --help says: lists of candidates have one line each.
std::string summary(std::string_view about) {
  const std::size_t end = about.find_first_of(";:(");
  return std::string(about.substr(0, about.find_last_not_of(' ', end - 1) + 1));
}

// A shell word for zsh's _arguments, in which [ ] : and \ have meanings.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

// How zsh completes the value of an option or a positional.
std::string zsh_value(const OptionText& option) {
  if (option.value.empty()) return "";
  std::string action = " ";
  if (!option.words.empty()) {
    action = '(' + joined(option.words) + ')';
  } else if (is_file(option)) {
    action = "_files";
  } else if (is_directory(option)) {
    action = "_files -/";
  }
  return ':' + zsh_text(option.value) + ':' + action;
}

}  // namespace

std::string bash_completion(const std::vector<CommandText>& commands) {
  std::string values;   // what the value of COMMAND OPTION may be
  std::string options;  // of each command
  for (const CommandText& command : commands) {
    std::string first;  // of the positionals
    for (const OptionText& option : command.options) {
      std::string action = "return";
      if (!option.words.empty()) action = "words=" + shell_word(joined(option.words));
      if (is_file(option)) action = "files=-f";
      if (is_directory(option)) action = "files=-d";
      if (option.positional()) {
        if (first.empty() && action != "return") first = "; " + action;
        continue;
      }
      if (option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) {
        patterns.push_back('"' + command.name + ' ' + name + '"');
      }
      values += "    " + joined(patterns, " | ") + ") " + action + " ;;\n";
    }
    options +=
        "      " + command.name + ") options=" + shell_word(names_of(command)) + first + " ;;\n";
  }
  return "# Completion of `headgate` for bash: source <(headgate completion bash)\n"
         "_headgate() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local command=${COMP_WORDS[1]} words='' files='' options=''\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    mapfile -t COMPREPLY < <(compgen -W '" +
         names_of(commands) +
         " --help --version' -- \"$word\")\n"
         "    return\n"
         "  fi\n"
         "  case \"$command $before\" in\n" +
         values + "    *) case $command in\n" + options +
         "    esac ;;\n"
         "  esac\n"
         "  if [[ $word == -* && $options ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$word\")\n"
         "  elif [[ $files ]]; then\n"
         "    compopt -o filenames 2> /dev/null\n"
         "    mapfile -t COMPREPLY < <(compgen \"$files\" -- \"$word\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"${words:-$options}\" -- \"$word\")\n"
         "  fi\n"
         "}\n"
         "complete -F _headgate headgate\n";
}

std::string zsh_completion(const std::vector<CommandText>& commands) {
  std::string list;
  std::string cases;
  for (const CommandText& command : commands) {
    list += "    " + shell_word(command.name + ':' + zsh_text(summary(command.about))) + '\n';
    cases += "    " + command.name + ")\n      _arguments";
    for (const OptionText& option : command.options) {
      if (option.positional()) {
        cases += " \\\n        " + shell_word((option.repeated ? "*" : "1") + zsh_value(option));
        continue;
      }
      for (const std::string& name : option.names) {
        cases +=
            " \\\n        " + shell_word((option.repeated ? "*" : "") + name + '[' +
                                         zsh_text(summary(option.about)) + ']' + zsh_value(option));
      }
    }
    cases += "\n      ;;\n";
  }
  return "#compdef headgate\n"
         "# Completion of `headgate` for zsh: a file named _headgate in a folder of $fpath.\n"
         "_headgate() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         list +
         "  )\n"
         "  if ((CURRENT == 2)); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [[ ${funcstack[1]} == _headgate ]]; then\n"
         "  _headgate \"$@\"\n"
         "else\n"
         "  compdef _headgate headgate\n"
         "fi\n";
}

std::string fish_completion(const std::vector<CommandText>& commands) {
  std::string out =
      "# Completion of `headgate` for fish: ~/.config/fish/completions/headgate.fish\n"
      "complete -c headgate -f\n"
      "complete -c headgate -n __fish_use_subcommand -l help -d 'Print help'\n"
      "complete -c headgate -n __fish_use_subcommand -l version -d 'Print the version'\n";
  for (const CommandText& command : commands) {
    out += "complete -c headgate -n __fish_use_subcommand -a " + command.name + " -d " +
           shell_word(summary(command.about), true) + '\n';
    for (const OptionText& option : command.options) {
      out += "complete -c headgate -n '__fish_seen_subcommand_from " + command.name + '\'';
      for (const std::string& name : option.names) {
        if (option.positional()) continue;
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      // -x: a value, and no file.
      if (!option.value.empty() && !option.positional()) out += is_file(option) ? " -r" : " -x";
      if (!option.words.empty()) out += " -a " + shell_word(joined(option.words));
      if (is_file(option)) out += " -F";
      if (is_directory(option)) out += " -a '(__fish_complete_directories)'";
      if (!option.positional()) out += " -d " + shell_word(summary(option.about), true);
      out += '\n';
    }
  }
  return out;
}

}  // namespace headgate::cli
