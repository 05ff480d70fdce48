// The options of the table for a policy file.
#pragma once

#include <string>

#include "headgate/policy/policy_set.h"
#include "headgate/store/table.h"

namespace headgate::gate {

// Returns memory, file, and how the memory is divided between kinds of states: as if every policy
// had the same number of keys, but about an eighth at least for cells of each size and for the
// ledger. Policies whose key is [] count only if there are no others.
[[nodiscard]] store::TableOptions table_options(const policy::PolicySet& policies);

// Returns a warning if the table has less than half of the places for keys of these policies that
// one of its size, divided for them, would have; otherwise "".
[[nodiscard]] std::string division_warning(const store::TableStats& table,
                                           const policy::PolicySet& policies);

// Returns a warning if the table's file is larger than the options ask for; otherwise "".
[[nodiscard]] std::string size_warning(const store::TableStats& table,
                                       const store::TableOptions& options);

}  // namespace headgate::gate
