#include "headgate/policy/match/path.h"

#include <algorithm>
#include <array>
#include <optional>

#include "headgate/base/ascii.h"
#include "headgate/policy/match/decode.h"
#include "headgate/policy/match/space.h"

namespace headgate::policy {
namespace {

// What upstreams do with "..".
enum class Dots {
  merged,     // removes a segment, after "//" has become one slash: most of them, and nginx
  kept,       // is a segment like any other: Express, which routes without resolving
  unmerged,   // removes a segment, also the empty one in "//": RFC 3986, and URL parsers,
              // which may also take the begin of a path for an authority: behind_authority()
  undecoded,  // the same, before slashes are decoded: those to which "a%2fb" is one segment
};

// Where upstreams end a parameter that begins with ';'.
enum class Parameters {
  to_any_slash,  // at "/", "%2f" or "\": those behind a proxy that decodes, as nginx may
  to_raw_slash,  // at "/" alone: those that remove parameters before they decode, as Tomcat does
};

// A letter beyond ASCII that Unicode's lower case, upper case or case folding makes one of ASCII.
// Caddy, and Fastify where it ignores case, route "/to<Kelvin sign>en" to /token; regular
// expressions of Go, Python and Perl that ignore case match "/u<long s>ers" with /users.
struct WideLetter {
  std::string_view utf8;
  char lower;
};
constexpr WideLetter wide_letters[] = {{"\xe2\x84\xaa", 'k'},  // U+212A, the Kelvin sign
                                       {"\xc4\xb0", 'i'},      // U+0130, I with a dot
                                       {"\xc4\xb1", 'i'},      // U+0131, i without a dot
                                       {"\xc5\xbf", 's'}};     // U+017F, long s

// By character: whether is_folded() may pass over it. It may not over a slash, which it looks
// behind, nor over what folding changes.
constexpr std::array<bool, 256> is_plain = [] {
  std::array<bool, 256> plain{};
  for (int c = 0; c < 256; ++c) {
    const char text = static_cast<char>(c);
    plain[static_cast<std::size_t>(c)] = text != '/' && text != '%' && text != ';' &&
                                         text != '\\' && text != '#' && text == lower(text);
  }
  for (const WideLetter& wide : wide_letters) {
    plain[static_cast<unsigned char>(wide.utf8.front())] = false;
  }
  return plain;
}();

// Whether folding would not change the path. May return false for some such paths. Nearly all paths
// are folded: this scan is what they cost.
bool is_folded(std::string_view raw) noexcept {
  if (trailing_space(raw) > 0) return false;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (is_plain[static_cast<unsigned char>(raw[i])]) continue;
    if (raw[i] != '/') return false;
    if (i + 1 == raw.size()) return i == 0;
    if (raw[i + 1] == '/' || raw[i + 1] == '.') return false;
  }
  return true;
}

// If out[begin..] ends with a letter of `wide_letters`, makes it lower case.
void fold_wide_letter(std::string& out, std::size_t begin) {
  if (static_cast<unsigned char>(out.back()) < 0x80) return;
  for (const WideLetter& wide : wide_letters) {
    if (!std::string_view(out).substr(begin).ends_with(wide.utf8)) continue;
    out.resize(out.size() - wide.utf8.size());
    out.push_back(wide.lower);
    return;
  }
}

// What decode() found in a path.
struct Decoded {
  bool slash_in_parameter = false;  // `parameters` made a difference
  bool encoded_slash = false;       // outside of parameters
};

// Stands for an encoded slash until dot segments are resolved. A path that has this byte itself has
// one more slash in this reading.
constexpr char opaque_slash = '\x01';

// Appends the path decoded, in lower case, with '/' for '\', without parameters and without white
// space at its end. A '%' or '#' is encoded, so that decoding again changes nothing. Of
// Dots::undecoded, encoded slashes are `opaque_slash`.
Decoded decode(std::string_view raw, Parameters parameters, Dots dots, std::string& out) {
  const std::size_t begin = out.size();
  bool in_parameter = false;
  Decoded decoded;
  while (!raw.empty()) {
    const char first = raw[0];
    const char byte = take_decoded(raw);
    const char c = byte == '\\' ? '/' : lower(byte);
    if (c == ';') in_parameter = true;
    if (in_parameter && c == '/') {
      decoded.slash_in_parameter |= first != '/';
      in_parameter = first != '/' && parameters == Parameters::to_raw_slash;
    }
    if (in_parameter) continue;
    const bool encoded = c == '/' && first == '%';
    decoded.encoded_slash |= encoded;
    if (c == '%' || c == '#') {
      out.append(c == '%' ? "%25" : "%23");
      continue;
    }
    out.push_back(encoded && dots == Dots::undecoded ? opaque_slash : c);
    fold_wide_letter(out, begin);
  }
  // Starlette routes "/login%0a" to /login, as do programs that end a regular expression with '$',
  // and Python's HTTP server "/login\xa0".
  while (const std::size_t size = trailing_space(std::string_view(out).substr(begin))) {
    out.resize(out.size() - size);
  }
  return decoded;
}

// Takes white space off the end of out[root..], whose segments are resolved, as "/login%20/" has it
// and, for programs that end a regular expression with '$', "/login%0a". The last segment may have
// to be resolved then: "/x/..%20/" ends with "..", and behind that, "/x/..%20/y/..%20" once more.
void trim(std::string& out, std::size_t root, Dots dots) {
  const auto path = [&] { return std::string_view(out).substr(root); };
  const auto pop = [&] {  // the last segment, and the slash before it
    const std::size_t slash = path().rfind('/');
    out.resize(root + (slash == std::string_view::npos ? 0 : slash));
  };
  while (trailing_space(path()) > 0) {
    while (const std::size_t size = trailing_space(path())) out.resize(out.size() - size);
    const std::string_view last = path().substr(path().rfind('/') + 1);  // npos + 1 is 0
    const bool climbs = last == ".." && dots != Dots::kept;
    if (climbs || last.empty() || last == ".") pop();
    if (climbs) pop();
  }
}

// Resolves out[begin..] in place, segment by segment. "." is left out, ".." treated as `dots` says,
// and of repeated slashes one is left. Leaves out white space at the end and the last slash, but
// not that of the root.
void resolve(std::string& out, std::size_t begin, Dots dots) {
  if (begin == out.size()) return;
  const std::size_t root = out[begin] == '/' ? begin + 1 : begin;
  if (out.back() != '/') out.push_back('/');
  std::size_t end = root;  // of the resolved part, which ends with a slash
  for (std::size_t at = root; at < out.size();) {
    const std::size_t next = out.find('/', at) + 1;
    const std::string_view segment = std::string_view(out).substr(at, next - 1 - at);
    if (segment == ".." && dots != Dots::kept) {
      if (end > root) --end;
      while (end > root && out[end - 1] != '/') --end;
    } else if (segment != "." && (!segment.empty() || dots >= Dots::unmerged)) {
      std::copy(out.begin() + static_cast<std::ptrdiff_t>(at),
                out.begin() + static_cast<std::ptrdiff_t>(next),
                out.begin() + static_cast<std::ptrdiff_t>(end));
      end += next - at;
    }
    at = next;
  }
  out.resize(end);
  if (dots >= Dots::unmerged) {
    if (dots == Dots::undecoded) {
      std::replace(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(), opaque_slash, '/');
    }
    return resolve(out, begin, Dots::kept);  // now "//" is one slash
  }
  if (end > root) out.pop_back();
  trim(out, root, dots);
}

// Whether a folded path is the other one, or lies above it. A '?' begins a query to some.
bool is_parent(std::string_view path, std::string_view below) noexcept {
  if (!below.starts_with(path)) return false;
  if (path.size() == below.size() || path == "/") return true;
  return below[path.size()] == '/' || below[path.size()] == '?';
}

bool is_slash(char c) noexcept { return c == '/' || c == '\\'; }

// The rest of a path that begins with two slashes, which URL parsers read as those before an
// authority: `new URL("//host/login", base)` has the path "/login". std::nullopt for other paths.
std::optional<std::string_view> behind_authority(std::string_view raw) noexcept {
  if (raw.size() < 2 || !is_slash(raw[0]) || !is_slash(raw[1])) return std::nullopt;
  const std::size_t authority = raw.find_first_not_of("/\\");
  const std::size_t end = raw.find_first_of("/\\", std::min(authority, raw.size()));
  return end == raw.npos ? "/" : raw.substr(end);
}

}  // namespace

std::size_t find_encoded_question_mark(std::string_view raw) noexcept {
  const std::size_t size = encoded_question_mark.size();
  std::size_t at = raw.find('%');
  while (at != raw.npos && !equal_ignoring_case(raw.substr(at, size), encoded_question_mark)) {
    at = raw.find('%', at + 1);
  }
  return at;
}

void append_folded_path(std::string_view raw, std::string& out) {
  const std::size_t begin = out.size();
  decode(raw, Parameters::to_any_slash, Dots::merged, out);
  resolve(out, begin, Dots::merged);
}

PathPattern::PathPattern(std::string_view pattern) : glob_("") {
  std::string folded;
  append_folded_path(pattern, folded);
  glob_ = Glob(folded);
  const std::size_t last = folded.find_last_not_of('*');
  // Not of "/*": an empty path is that of a request that could not be read.
  if (last == std::string::npos || last == 0 || last + 1 == folded.size()) return;
  if (folded[last] == '/') parent_.emplace(std::string_view(folded).substr(0, last));
}

FoldedPath::~FoldedPath() {
  // [bytes] All readings of a path of 800 bytes, which few are longer than. A client may send one
  // of 16 KiB, of which the readings take half a MiB.
  constexpr std::size_t kept_max = 8192;
  if (buffer_.capacity() > kept_max) std::string().swap(buffer_);
}

void FoldedPath::fold() {
  if (is_folded(raw_)) {
    readings_[count_++] = raw_;
    return;
  }
  const std::string_view cut = raw_.substr(0, raw_.find('#'));
  has_fragment_ = cut.size() < raw_.size();
  buffer_.clear();
  // The views into the buffer must stay valid. One more character is for the slash at the end, and
  // two are for each one that is encoded.
  const std::size_t paths = (has_fragment_ ? 2U : 1U) * (behind_authority(raw_) ? 2U : 1U);
  const auto encoded = static_cast<std::size_t>(
      std::ranges::count_if(raw_, [](char c) { return c == '%' || c == '#'; }));
  buffer_.reserve((paths * readings_per_path + 4) * (raw_.size() + 1 + 2 * encoded));
  add_readings(raw_);
  if (has_fragment_) add_readings(cut.empty() ? "/" : cut);
  // Fastify up to 4 ends the path at the first ';'. Without a slash behind it, the path ends there
  // in one of the readings above. h3 1 decodes a path before it ends it at a '?'.
  const std::size_t parameters = raw_.find(';');
  if (raw_.find('/', std::min(parameters, raw_.size())) != raw_.npos) add_readings_to(parameters);
  add_readings_to(find_encoded_question_mark(raw_));
}

std::string_view FoldedPath::key_of(const std::bitset<readings_max>& of) const noexcept {
  std::optional<std::string_view> key;
  for (std::size_t i = 0; i < count_; ++i) {
    if (!of.test(i)) continue;
    if (!key || is_parent(readings_[i], *key)) {
      key = readings_[i];
    } else if (!is_parent(*key, readings_[i])) {
      return {};
    }
  }
  return key.value_or("");
}

void FoldedPath::add_readings(std::string_view raw) {
  add_readings_of_path(raw);
  if (const auto rest = behind_authority(raw)) add_readings_of_path(*rest);
}

void FoldedPath::add_readings_of_path(std::string_view raw) {
  for (const Parameters parameters : {Parameters::to_any_slash, Parameters::to_raw_slash}) {
    Decoded decoded;
    for (const Dots dots : {Dots::merged, Dots::kept, Dots::unmerged, Dots::undecoded}) {
      if (dots == Dots::undecoded && !decoded.encoded_slash) break;
      const std::size_t begin = buffer_.size();
      decoded = decode(raw, parameters, dots, buffer_);
      const bool climbs = buffer_.find("..", begin) != std::string::npos;
      resolve(buffer_, begin, dots);
      in_key_.set(count_, dots == Dots::merged || dots == Dots::undecoded);
      readings_[count_++] = std::string_view(buffer_).substr(begin);
      if (!climbs) break;
    }
    if (!decoded.slash_in_parameter) break;
  }
}

void FoldedPath::add_readings_to(std::size_t end) {
  if (end == 0 || end == raw_.npos) return;
  for (const Dots dots : {Dots::merged, Dots::kept}) {
    const std::size_t begin = buffer_.size();
    decode(raw_.substr(0, end), Parameters::to_any_slash, dots, buffer_);
    const bool climbs = buffer_.find("..", begin) != std::string::npos;
    resolve(buffer_, begin, dots);
    in_key_.set(count_, dots == Dots::merged);
    readings_[count_++] = std::string_view(buffer_).substr(begin);
    if (!climbs) break;
  }
}

}  // namespace headgate::policy
