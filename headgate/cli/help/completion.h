// Scripts with which shells complete the command line of `headgate`.
#pragma once

#include <string>
#include <vector>

#include "headgate/cli/help/command_text.h"

namespace headgate::cli {

// Each returns the script of one shell for these commands. Values that are files are completed as
// files, and values of one_of() as its words.
[[nodiscard]] std::string bash_completion(const std::vector<CommandText>& commands);
[[nodiscard]] std::string zsh_completion(const std::vector<CommandText>& commands);
[[nodiscard]] std::string fish_completion(const std::vector<CommandText>& commands);

}  // namespace headgate::cli
