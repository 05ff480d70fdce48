#include "headgate/gate/table_change.h"

#include "headgate/base/regular_file.h"
#include "headgate/gate/table_options.h"

namespace headgate::gate {
namespace {

std::string words(const policy::TableSettings& table) {
  return std::to_string(table.memory) + " bytes " +
         (table.file.empty() ? "of memory" : "in the file " + table.file);
}

}  // namespace

std::string refuse_table(const policy::TableSettings& wanted, const policy::TableSettings& used,
                         std::string_view owner, std::string_view remedy) {
  const bool fits = wanted.memory >= used.memory || !wanted.file.empty();
  if (fits && is_same_file(wanted.file, used.file)) return {};
  std::string why =
      "store: the table is to have " + words(wanted) + "; expected the table that this ";
  why.append(owner).append(" has, ").append(words(used)).append(". To change it, ").append(remedy);
  return why;
}

Result<void, std::string> grow_table(store::Table& table, const policy::PolicySet& policies) {
  const auto grown = table.grow(table_options(policies));
  if (!grown) return Failure<std::string>("store: " + grown.error());
  return {};
}

}  // namespace headgate::gate
