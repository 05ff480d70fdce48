#include "headgate/cli/schema.h"

#include "headgate/cli/help/print.h"
#include "headgate/policy/file/schema.h"

namespace headgate::cli {

std::function<int()> add_schema(CLI::App& headgate) {
  CLI::App* command =
      headgate.add_subcommand("schema", "Print the JSON Schema of the policy file, for editors");
  command->footer(
      "With yaml-language-server, which many editors use, write on the first line of a policy "
      "file:\n"
      "  # yaml-language-server: $schema=headgate.schema.json\n"
      "Exit status: 0 done.");
  return [] { return print(policy::schema()); };
}

}  // namespace headgate::cli
