#include "headgate/cli/check.h"

#include <iostream>
#include <memory>
#include <string>

#include "headgate/cli/describe.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"

namespace headgate::cli {

std::function<int()> add_check(CLI::App& headgate) {
  const auto file = std::make_shared<std::string>();
  CLI::App* command =
      headgate.add_subcommand("check", "Check a policy file: print its faults, or its policies");
  command->add_option("file", *file, "The policy file")->required()->type_name("FILE");
  command->footer("Exit status: 0 no faults, 1 faults, 2 wrong usage.");
  return [file]() -> int {
    const auto policies = load_or_complain(*file);
    if (policies == nullptr) return input_fault;
    for (const policy::Policy& policy : policies->policies()) std::cout << describe(policy);
    const std::size_t count = policies->policies().size();
    std::cout << *file << ": " << count << (count == 1 ? " policy" : " policies")
              << ", no faults\n";
    return done;
  };
}

}  // namespace headgate::cli
