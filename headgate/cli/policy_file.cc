#include "headgate/cli/policy_file.h"

#include <iostream>

#include "headgate/policy/file/load.h"

namespace headgate::cli {

std::shared_ptr<const policy::PolicySet> load_or_complain(const std::string& path) {
  const policy::Loaded loaded = policy::load_file(path);
  if (loaded) {
    for (const policy::Fault& warning : (*loaded)->warnings()) {
      std::cerr << "warning: " << warning.text() << '\n';
    }
    return *loaded;
  }
  for (const policy::Fault& fault : loaded.error()) std::cerr << fault.text() << '\n';
  return nullptr;
}

}  // namespace headgate::cli
