// Parts that are decided together: one after the other, over what Redis had under their keys.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/text_map.h"
#include "headgate/redis/clock.h"
#include "headgate/redis/part.h"
#include "headgate/redis/script_call.h"

namespace headgate::redis {

// All keys are in one slot. Used by one thread. May throw std::bad_alloc.
class Batch {
 public:
  using Parts = std::vector<std::shared_ptr<Part>>;

  // Whether the part can be decided with those that are there.
  [[nodiscard]] bool fits(const Part& part) const;
  void add(std::shared_ptr<Part> part);

  // Those that are not decided yet.
  [[nodiscard]] const Parts& parts() const noexcept { return parts_; }
  // Takes off those whose charges are gone, because nobody waits any more.
  [[nodiscard]] Parts take_unawaited();
  [[nodiscard]] Parts take_all() { return std::exchange(parts_, {}); }

  // The keys of all parts, each once: those that are swapped, and those that the script decides.
  [[nodiscard]] const std::vector<std::string>& swapped() const noexcept { return swapped_.keys; }
  [[nodiscard]] const std::vector<std::string>& scripted() const noexcept { return scripted_.keys; }
  // What Redis has under the swapped keys and then, if they were read, under the others, in this
  // order. Returns false if it is another number of values.
  [[nodiscard]] bool note(std::span<const std::string_view> values);
  // The swapped keys with their values.
  [[nodiscard]] std::vector<Compared> compared() const;

  // Decides all parts, or as many as do not write too much at once, as of `now`, if they have no
  // time of their own, and returns what the script has to do; empty: nothing, as each is decided.
  // Of scripted charges the last known states are taken.
  [[nodiscard]] std::vector<ScriptBundle> decide(Instant now, Clock clock);
  // Whether the script's reply has a form that it can have for these bundles.
  [[nodiscard]] bool is_answered_by(const ScriptReply& reply) const;
  // Whether it has what the swapped keys of the parts that are left have now, because the script
  // has not decided all of these bundles.
  [[nodiscard]] bool leaves_values(const ScriptReply& reply) const;
  // Takes off the parts that the script has decided, and notes what it has found. REQUIRES:
  // is_answered_by().
  [[nodiscard]] Parts take_decided(const ScriptReply& reply);

 private:
  struct Keys {
    std::vector<std::string> keys;
    TextMap<std::size_t> place_of;

    void add(std::string_view key) {
      if (place_of.try_emplace(std::string(key), keys.size()).second) keys.emplace_back(key);
    }
  };
  // What a bundle of the script stands for.
  struct Step {
    std::size_t end;                  // it decides the parts before this one
    std::vector<std::string> before;  // of its last part: what each charge has found
  };

  [[nodiscard]] Parts take_first(std::size_t count);
  // Where the value of a charge's key is. REQUIRES: it is not decided here.
  [[nodiscard]] std::size_t place_of(const Part& part, std::size_t charge) const;
  [[nodiscard]] static std::vector<KeyState> states_of(const Part& part,
                                                       std::span<const std::string> bytes);
  void add_verdicts(const Part& part, const Step& step, Instant now, Clock clock,
                    ScriptBundle& bundle) const;

  Parts parts_;
  std::size_t charges_ = 0;
  Keys swapped_;
  Keys scripted_;
  std::vector<std::string> values_;  // of the swapped keys, then of the scripted ones
  std::vector<Step> steps_;          // of the bundles that decide() has returned
};

}  // namespace headgate::redis
