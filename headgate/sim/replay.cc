#include "headgate/sim/replay.h"

namespace headgate::sim {

Result<void, std::string> replay_trace(Lines& lines, const std::string& name, Simulator& simulator,
                                       std::ostream* decisions, const Complain& complain) {
  Complaints complaints(name, complain);
  const auto are_written = [&] { return decisions == nullptr || decisions->good(); };
  for (Line line; are_written() && lines.next(line);) {
    Result<Answers, std::string> answers;
    bool several = false;
    if (line.cut) {
      answers = Failure<std::string>("longer than " + std::to_string(line_bytes_max) + " bytes");
    } else if (const auto parsed = parse_trace_line(line.text); parsed) {
      several = parsed->several;
      answers = simulator.apply(*parsed);
    } else {
      answers = Failure<std::string>(parsed.error());
    }
    if (answers) {
      if (decisions != nullptr) *decisions << decision_json(*answers, several) << '\n';
      continue;
    }
    simulator.summary().skip();
    if (decisions != nullptr) *decisions << error_json(answers.error()) << '\n';
    complaints.add(line.number, answers.error());
  }
  if (!lines.error().empty()) return Failure<std::string>(lines.error());
  return {};
}

}  // namespace headgate::sim
