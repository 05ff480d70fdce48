// Base64 in keys. Decoders accept many spellings of one text, and clients may choose among them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace headgate::policy {

enum class Base64Alphabet { standard, url };  // RFC 4648, sections 4 and 5

// Reads text[from..end], and writes it from text[to] on (to <= from) as encoders do, without
// padding: characters of no meaning are left out, and so are bits that are no byte. Returns where
// it ends then. Returns std::nullopt if decoders differ about what it stands for:
//
//   - something follows a '=' or a space: Node stops at a '=', PHP does not, and Python seldom
//   - '-' or '_' in the standard alphabet: they mean something to Node, but not to PHP and Python
//
// In the alphabet for URLs, '+' and '/' are '-' and '_'.
[[nodiscard]] std::optional<std::size_t> fold_base64(std::string& text, std::size_t from,
                                                     std::size_t end, std::size_t to,
                                                     Base64Alphabet alphabet);

// Whether lenient decoders may read "user:password" in a text: characters, one of which is a ':'.
// What is no base64 does not count, and neither does what follows a '=' behind the ':'.
[[nodiscard]] bool is_user_and_password(std::string_view text) noexcept;

// Whether a text is a sealed token, that is, one that is signed or encrypted: JSON in base64, and
// such parts behind it, separated by '.', or an encrypted text. Such are JWT (RFC 7519), what
// Flask, Starlette and Remix sign sessions with, and what ASP.NET Core and Fernet (Python) encrypt
// them with. Plug (Elixir) does both, with the name of the way in place of the JSON.
[[nodiscard]] bool is_sealed(std::string_view text) noexcept;

// Writes text[begin..] in one form if it is such a token, one that iron-session has sealed, or
// padded base64. JSON is signed as it is spelt, but libraries decode signatures and what is
// encrypted leniently. Other values stay as they are. Returns false if decoders differ about the
// token.
[[nodiscard]] bool fold_token(std::string& text, std::size_t begin);

}  // namespace headgate::policy
