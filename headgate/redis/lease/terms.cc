#include "headgate/redis/lease/terms.h"

#include <type_traits>
#include <variant>

namespace headgate::redis {

std::optional<LeaseTerms> LeaseTerms::make(const limit::Law& law, std::uint64_t leased) noexcept {
  if (leased == 0) return std::nullopt;
  return std::visit(
      [&]<class L>(const L& one) -> std::optional<LeaseTerms> {
        LeaseTerms terms;
        terms.most = leased;
        if constexpr (std::is_same_v<L, limit::LinearWhole> ||
                      std::is_same_v<L, limit::LinearExact>) {
          terms.burst = one.quota() - leased;
          terms.length = static_cast<std::int64_t>(one.interval());
          terms.count = static_cast<std::int64_t>(one.scale());
        } else if constexpr (std::is_same_v<L, limit::FixedWindow>) {
          terms.kind = Kind::window;
          terms.burst = one.quota();
          terms.length = static_cast<std::int64_t>(one.window());
          if (one.aligned()) terms.offset = static_cast<std::int64_t>(one.offset());
        } else {
          return std::nullopt;
        }
        return terms;
      },
      law);
}

}  // namespace headgate::redis
