// Credentials in keys: the values of Authorization and Proxy-Authorization.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::policy {

// Whether a header, whose name is in lower case, has credentials.
[[nodiscard]] bool has_credentials(std::string_view header) noexcept;

// Writes the credentials in text[begin..], in which white space is folded as in other headers, in
// one form. They are what follows the scheme, which many programs do not look at, or, of
// parameters, the value of `token`; other parameters stay as they are, behind their scheme in lower
// case. Base64 of "Basic" is written as encoders do. Returns false if programs differ about the
// credentials: of several words, one takes the first, another the last.
[[nodiscard]] bool fold_credentials(std::string& text, std::size_t begin);

}  // namespace headgate::policy
