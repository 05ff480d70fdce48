// The values of headers, cookies and query arguments in keys. A value can be spelled in many ways
// that mean the same to an upstream; these functions append one form that stands for all of them.
// Each appends nothing if the request lacks the part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "headgate/policy/request.h"

namespace headgate::policy {

// Appends the header with this name, in lower case. Several lines are the same as one line with
// their values separated by commas (RFC 9110, section 5.3): "a, b" stands for the lines "a" and
// "b", and for "a,b". Empty elements are left out, and white space between words is one space; that
// is what upstreams and their programs take for it, more than HTTP's own (space.h). Credentials,
// of which the first word is no part of a list, are in the form of fold_credentials(), and tokens,
// here as in cookies and arguments, in that of fold_token(); those about which programs differ
// count as absent.
void append_header(const Headers& headers, std::string_view name, std::string& out);

// Appends one line of the header with this name, in lower case, as append_header() does, but itself
// in lower case, and not in the form of credentials or tokens: of credentials it is the scheme and
// the list behind it.
void append_line(std::string_view name, std::string_view line, std::string& out);

// Appends the cookie with this name, which all Cookie lines are searched for. %XX is decoded once,
// quotes around the value are left out and '\' in them is resolved, and '+' is a space: each of
// these is what some upstreams do. White space around names and values does not count, and names
// are compared as those of arguments are. A cookie that occurs with different values counts as
// absent: the upstream may use either, so that one client could be counted as another. So does a
// value that programs end in different places: with a ',', with white space that is not in quotes,
// or with a quote at its begin that does not end. And so does a cookie that some of them may find
// inside of another one's value. What servers append to JSESSIONID is left out.
void append_cookie(const Headers& headers, std::string_view name, std::string& out);

// Appends the argument with this name, decoded: %XX is a byte, '+' a space. White space around the
// value does not count, whether encoded or not. Names are compared as
// the most lenient upstreams read them: "+a.b", "a[b", "[a_b]", "A_B" and "a_b%00x" are "a_b".
// Arguments are separated by '&', and perhaps by ';'; the first may follow a ';' of the path. An
// argument that has different values under these readings counts as absent.
void append_argument(const Request& request, std::string_view name, std::string& out);

// Whether a request has a value.
enum class Presence : std::uint8_t {
  absent,
  unclear,  // it is there, but empty, or with values that differ: keys count it as absent
  present,
};

[[nodiscard]] Presence presence_of_header(const Headers& headers, std::string_view name) noexcept;
[[nodiscard]] Presence presence_of_cookie(const Headers& headers, std::string_view name) noexcept;
[[nodiscard]] Presence presence_of_argument(const Request& request, std::string_view name) noexcept;

// Append a value that is given as text, and not by a request, in the same form.
void append_header_value(std::string_view name, std::string_view value, std::string& out);
void append_cookie_value(std::string_view name, std::string_view value, std::string& out);
void append_argument_value(std::string_view value, std::string& out);

}  // namespace headgate::policy
