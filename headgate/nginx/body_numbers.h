// The numbers of a response's JSON that policies settle by, read as the body passes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "headgate/gate/gate.h"
#include "headgate/nginx/inflater.h"
#include "headgate/nginx/ngx.h"
#include "headgate/policy/match/response_number.h"
#include "headgate/policy/request.h"

namespace headgate::nginx {

// In a request's memory. Not thread-safe.
class PassingNumbers final : public policy::BodyNumbers {
 public:
  // Reads the members that these dues are settled by. nullptr: there are none, no memory, or the
  // response has a coding other than gzip, or several.
  [[nodiscard]] static PassingNumbers* make(ngx_http_request_t* r, const gate::Gate& gate,
                                            std::span<const gate::Due> dues) noexcept;

  void read(std::string_view piece) noexcept {
    if (inflater_ == nullptr) return read_plain(piece);
    inflater_->read(piece, [this](std::string_view plain) { read_plain(plain); });
  }

  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view path) const noexcept override;

 private:
  struct Member {
    std::string_view path;  // the policies'
    policy::ResponseNumber number;
  };

  PassingNumbers(std::span<Member> members, Inflater* inflater) noexcept
      : members_(members), inflater_(inflater) {}

  void read_plain(std::string_view piece) noexcept {
    for (Member& member : members_) member.number.read(piece);
  }

  std::span<Member> members_;
  Inflater* inflater_;  // nullptr: the body is not compressed
};

}  // namespace headgate::nginx
