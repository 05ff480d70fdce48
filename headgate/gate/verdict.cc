#include "headgate/gate/verdict.h"

namespace headgate::gate {

std::string_view Verdict::word() const noexcept {
  switch (outcome) {
    case Outcome::off:
      return "off";
    case Outcome::admitted:
      return in_outage ? "outage-admitted" : "admitted";
    case Outcome::shadow_denied:
      return in_outage ? "outage-shadow-denied" : "shadow-denied";
    case Outcome::denied:
      return in_outage ? "outage-denied" : "denied";
  }
  return "";
}

}  // namespace headgate::gate
