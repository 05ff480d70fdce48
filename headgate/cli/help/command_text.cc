#include "headgate/cli/help/command_text.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "headgate/policy/file/spelling.h"

namespace headgate::cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

// The words of one_of(), which are in the validator's name.
std::vector<std::string> words_of(CLI::Option& option) {
  try {
    return split(option.get_validator(0)->get_name(), ' ');
  } catch (const CLI::OptionNotFound&) {
    return {};  // it has no validator
  }
}

OptionText option_text(CLI::Option& option) {
  OptionText text;
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  if (text.names.empty()) text.names.push_back(option.get_name(true));
  if (option.get_items_expected_max() > 0) text.value = option.get_type_name();
  text.words = words_of(option);
  text.initial = option.get_default_str();
  text.about = option.get_description();
  text.required = option.get_required();
  text.repeated = option.get_items_expected_max() > 1;
  return text;
}

std::optional<std::string> nearest(const std::string& word, const std::vector<std::string>& known) {
  const std::vector<std::string_view> words(known.begin(), known.end());
  const auto near = policy::nearest(word, words);
  return near ? std::optional<std::string>(*near) : std::nullopt;
}

}  // namespace

CLI::Validator one_of(std::initializer_list<std::string> words) {
  CLI::Validator validator = CLI::IsMember(std::vector<std::string>(words));
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  validator.description("").name(name);
  return validator;
}

CommandText command_text(CLI::App& command) {
  CommandText text{
      command.get_name(), command.get_description(), split(command.get_footer(), '\n'), {}};
  for (CLI::Option* option : command.get_options({})) text.options.push_back(option_text(*option));
  std::stable_partition(text.options.begin(), text.options.end(),
                        [](const OptionText& option) { return option.positional(); });
  return text;
}

std::vector<CommandText> command_texts(CLI::App& headgate) {
  std::vector<CommandText> texts;
  for (CLI::App* command : headgate.get_subcommands({})) texts.push_back(command_text(*command));
  return texts;
}

CLI::App* find_command(CLI::App& headgate, const std::string& name) {
  const std::vector<CLI::App*> commands = headgate.get_subcommands({});
  const auto found = std::find_if(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == name;
  });
  return found == commands.end() ? nullptr : *found;
}

std::string no_such_command(CLI::App& headgate, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::App* command : headgate.get_subcommands({})) names.push_back(command->get_name());
  std::sort(names.begin(), names.end());
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  const auto near = nearest(word, names);
  return "there is no command \"" + word + "\"; " +
         (near ? "did you mean " + *near + "? The" : "the") + " commands are " + list;
}

std::optional<std::string> no_such_option(CLI::App& command) {
  for (const std::string& argument : command.remaining()) {
    const std::string word = argument.substr(0, argument.find('='));
    if (!word.starts_with('-') || word == "-" || word == "--") continue;
    std::vector<std::string> known;
    for (const OptionText& option : command_text(command).options) {
      if (!option.positional()) {
        known.insert(known.end(), option.names.begin(), option.names.end());
      }
    }
    const auto near = nearest(word, known);
    return "there is no option " + word + (near ? "; did you mean " + *near + "?" : "");
  }
  return std::nullopt;
}

}  // namespace headgate::cli
