// Manual pages of the commands, as roff.
#pragma once

#include <string>
#include <vector>

#include "headgate/cli/help/command_text.h"

namespace headgate::cli {

// The page headgate-COMMAND(1). `version` is shown at its foot.
[[nodiscard]] std::string man_page(const CommandText& command, const std::string& version);

// The page headgate(1), which lists the commands. `about` is what the program does.
[[nodiscard]] std::string man_page(const std::string& about,
                                   const std::vector<CommandText>& commands,
                                   const std::string& version);

}  // namespace headgate::cli
