// Credentials in keys: the values of Authorization and Proxy-Authorization.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headgate::policy {

// Whether a header, whose name is in lower case, has credentials.
[[nodiscard]] bool has_credentials(std::string_view header) noexcept;

// Writes the credentials in text[begin..], a list that is folded as in other headers, in one form.
// `scheme` is the word before them, or the only one. They are the key without it, because many
// programs do not look at it; of parameters, the value of `token`. Other parameters stay as they
// are, behind their scheme in lower case. Base64 of a user and a password is written as encoders
// do. Returns false if programs differ about the credentials: of several words, one takes the
// first, another the last.
[[nodiscard]] bool fold_credentials(std::string_view scheme, std::string& text, std::size_t begin);

}  // namespace headgate::policy
