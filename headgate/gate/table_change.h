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
// another file, or no file and more memory. One in a file may be larger (size_warning()). `owner`
// has the table, such as "server"; `remedy` is how users get another one, such as "restart the
// server".
[[nodiscard]] std::string refuse_table(const policy::TableSettings& wanted,
                                       const policy::TableSettings& used, std::string_view owner,
                                       std::string_view remedy);

// Makes the table as large as the policies say, unless it is larger. To be called if they are not
// refused. Returns why it cannot grow, if so.
[[nodiscard]] Result<void, std::string> grow_table(store::Table& table,
                                                   const policy::PolicySet& policies);

}  // namespace headgate::gate
