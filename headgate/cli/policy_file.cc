#include "headgate/cli/policy_file.h"

#include "headgate/cli/errors.h"
#include "headgate/policy/file/load.h"

namespace headgate::cli {

std::shared_ptr<const policy::PolicySet> load_or_complain(const std::string& path) {
  const policy::Loaded loaded = policy::load_file(path);
  if (loaded) {
    for (const policy::Fault& warning : (*loaded)->warnings()) {
      print_warning("warning: " + warning.text());
    }
    return *loaded;
  }
  for (const policy::Fault& fault : loaded.error()) print_error(fault.text());
  return nullptr;
}

}  // namespace headgate::cli
