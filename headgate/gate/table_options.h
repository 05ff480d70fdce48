// The options of the table for a policy file.
#pragma once

#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::gate {

// Returns memory, file, and how the memory is divided between the kinds of cells. The division
// assumes that every policy has the same number of keys.
[[nodiscard]] store::TableOptions table_options(const policy::PolicySet& policies);

}  // namespace headgate::gate
