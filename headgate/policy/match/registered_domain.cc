#include "headgate/policy/match/registered_domain.h"

#include <libpsl.h>

#include <algorithm>
#include <cstring>

#include "headgate/base/ascii.h"
#include "headgate/policy/address/address.h"

namespace headgate::policy {
namespace {

// The newer of the distribution's list and the one inside the library. It is never freed.
const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = [] {
    const psl_ctx_t* latest = psl_latest(nullptr);
    return latest != nullptr ? latest : psl_builtin();
  }();
  return list;
}

bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > host_name_max || host.front() == '.' || host.back() == '.') {
    return false;
  }
  if (host.find("..") != std::string_view::npos || Address::parse(host)) return false;
  return std::all_of(host.begin(), host.end(), [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
  });
}

}  // namespace

bool is_icann_suffix(std::string_view name) noexcept {
  if (name.size() > host_name_max) return false;
  char text[host_name_max + 1];
  std::memcpy(text, name.data(), name.size());
  text[name.size()] = '\0';
  return psl_is_public_suffix2(public_suffixes(), text, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE) !=
         0;
}

void load_public_suffixes() { static_cast<void>(public_suffixes()); }

void keep_registered_domain(std::string& text, std::size_t begin) {
  const auto first = text.begin() + static_cast<std::ptrdiff_t>(begin);
  std::transform(first, text.end(), first, lower);
  // The port of a Host is the client's own choice.
  const std::size_t colon = text.find(':', begin);
  if (colon != text.npos &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(colon) + 1, text.end(), is_digit)) {
    text.resize(colon);
  }
  if (text.size() > begin && text.back() == '.') text.pop_back();
  if (!is_host_name(std::string_view(text).substr(begin))) return;
  const char* const name = text.c_str() + begin;
  const char* const registered = psl_registrable_domain(public_suffixes(), name);
  if (registered != nullptr) text.erase(begin, static_cast<std::size_t>(registered - name));
}

void append_registered_domain(std::string_view host, std::string& out) {
  const std::size_t begin = out.size();
  out.append(host);
  keep_registered_domain(out, begin);
}

}  // namespace headgate::policy
