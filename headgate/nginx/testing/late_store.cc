// The store of the module that tests load: it decides as the table does, but later, and by the
// mailbox of its caller.
//
// It answers after a millisecond. Files in nginx's prefix change that: with `hold` it answers
// nothing, and logs how many answers are outstanding; with `reverse` it answers the latest call
// first; with `impatient`, requests wait for a tenth of a second only.

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/nginx/conf.h"
#include "headgate/store/mailbox.h"

namespace headgate::nginx {
namespace {

bool is_file(std::string_view name) {
  const auto& cycle = const_cast<const ngx_cycle_t&>(*ngx_cycle);
  return access((std::string(view(cycle.prefix)) += name).c_str(), F_OK) == 0;
}

class LateStore final : public store::Store {
 public:
  explicit LateStore(std::shared_ptr<store::Table> table) : table_(std::move(table)) {
    timer_.data = this;
    timer_.handler = [](ngx_event_t* timer) { static_cast<LateStore*>(timer->data)->answer(); };
  }

  [[nodiscard]] Instant now() const noexcept override { return table_->now(); }
  void prefetch(std::span<store::Charge> charges) noexcept override { table_->prefetch(charges); }

  void take(std::span<store::Bundle> bundles, std::optional<Instant>& now,
            store::Completion done) noexcept override {
    calls_.push_back(new Call(bundles, now, done));
    if (is_file("hold")) {
      ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0, "late store: %uz outstanding",
                    calls_.size());
    }
    timer_.log = ngx_cycle->log;
    if (!timer_.timer_set) ngx_add_timer(&timer_, 1);
  }

 private:
  // Ends when it is delivered.
  class Call : public store::Mailbox::Letter {
   public:
    Call(std::span<store::Bundle> bundles, std::optional<Instant>& now, store::Completion done)
        : Letter([](Letter& self) noexcept { static_cast<Call&>(self).complete(); }),
          bundles_(bundles),
          now_(now),
          done_(done) {}

    void decide(store::Table& table) {
      table.take(bundles_, now_, {});
      if (done_.home == nullptr) return complete();  // what is settled after a response
      done_.home->post(*this);
    }

   private:
    void complete() {
      done_.call(done_.context);
      delete this;
    }

    std::span<store::Bundle> bundles_;
    std::optional<Instant>& now_;
    store::Completion done_;
  };

  void answer() {
    if (is_file("hold")) {
      timer_.cancelable = 1;  // a worker that is to exit does not wait for it
      ngx_add_timer(&timer_, 5);
      return;
    }
    timer_.cancelable = 0;
    std::vector<Call*> calls = std::exchange(calls_, {});
    if (is_file("reverse")) std::reverse(calls.begin(), calls.end());
    for (Call* const call : calls) call->decide(*table_);
  }

  std::shared_ptr<store::Table> table_;
  std::vector<Call*> calls_;
  ngx_event_t timer_{};
};

}  // namespace

std::shared_ptr<store::Store> deciding_store(const MainConf& conf) {
  return std::make_shared<LateStore>(conf.table);
}

ngx_msec_t patience() noexcept { return is_file("impatient") ? 100 : 60'000; }

}  // namespace headgate::nginx
