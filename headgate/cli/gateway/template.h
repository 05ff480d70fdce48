// A text with placeholders, such as nginx.conf.in.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace headgate::cli {

// The values of each placeholder.
using TemplateValues = std::map<std::string, std::vector<std::string>, std::less<>>;

// Returns `text` with its placeholders replaced; values are taken as they are, also an `@` in them.
//   @NAME@                the value of NAME, or nothing if it has none
//   @each NAME            repeats the lines up to `@end` once per value of NAME. In these lines
//   @end                  @NAME@ is that value. Blocks do not nest
//   @# comment            is left out
// Every NAME must be a key of `values`: anything else is a mistake in the template (asserted).
[[nodiscard]] std::string fill_template(std::string_view text, const TemplateValues& values);

}  // namespace headgate::cli
