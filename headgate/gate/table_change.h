// What a reload may do with the table: make it grow.
#pragma once

#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/policy/policy_set.h"
#include "headgate/policy/settings.h"
#include "headgate/store/table.h"

namespace headgate::gate {

// Returns why a table that has the settings `used` cannot be that of `wanted`, or "": it has
// another file, or would have to become smaller. `owner` has the table, such as "server"; `remedy`
// is how users get another one, such as "restart the server".
[[nodiscard]] std::string refuse_table(const policy::TableSettings& wanted,
                                       const policy::TableSettings& used, std::string_view owner,
                                       std::string_view remedy);

// Makes the table, which has the settings `used`, as large as the policies say. To be called if
// they are not refused. Returns why it cannot grow, if so.
[[nodiscard]] Result<void, std::string> grow_table(store::Table& table,
                                                   const policy::PolicySet& policies,
                                                   const policy::TableSettings& used);

}  // namespace headgate::gate
