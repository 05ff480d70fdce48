// What a command says about itself and its options. Help, manual pages and completions are made of
// it.
#pragma once

#include <CLI/CLI.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace headgate::cli {

struct OptionText {
  std::vector<std::string> names;  // "--listen" or "-n"; the name of a positional has no dash
  std::string value;               // what its value is, such as "FILE"; empty: it takes none
  std::vector<std::string> words;  // the only values that it may have; empty: any
  std::string initial;             // its value if it is not given; empty: described in `about`
  std::string about;
  bool required = false;
  bool repeated = false;

  [[nodiscard]] bool positional() const noexcept { return !names.front().starts_with('-'); }
};

struct CommandText {
  std::string name;
  std::string about;
  std::vector<std::string> footer;  // its lines
  std::vector<OptionText> options;  // positionals first
};

// The value of an option must be one of these words, none of which has a space.
[[nodiscard]] CLI::Validator one_of(std::initializer_list<std::string> words);

[[nodiscard]] CommandText command_text(CLI::App& command);

// The texts of all commands, in the order in which --help lists them.
[[nodiscard]] std::vector<CommandText> command_texts(CLI::App& headgate);

// Returns nullptr if there is no such command.
[[nodiscard]] CLI::App* find_command(CLI::App& headgate, const std::string& name);

// A sentence for a word that is the name of no command.
[[nodiscard]] std::string no_such_command(CLI::App& headgate, const std::string& word);

// After a failed parse: a sentence for the first option that the command does not have, or
// std::nullopt if there is none.
[[nodiscard]] std::optional<std::string> no_such_option(CLI::App& command);

}  // namespace headgate::cli
