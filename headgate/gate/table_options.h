// The table that a policy file asks for.
#pragma once

#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::gate {

// Memory, file, and how the memory is divided between the two kinds of cells: as the file's grants
// are, of which each is taken to have as many keys.
[[nodiscard]] store::TableOptions table_options(const policy::PolicySet& policies);

}  // namespace headgate::gate
