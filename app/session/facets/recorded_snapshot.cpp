#include "app/session/facets/recorded_snapshot.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "app/session/states/opened_recording.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/recording/edited_trace.hpp"
#include "engine/trace/head_scores.hpp"

namespace attn::app {
namespace {

std::vector<std::vector<Token>> tokens_of(const std::vector<std::vector<std::string>>& words, const TokenBatch& batch) {
    std::vector<std::vector<Token>> tokens;
    for (std::size_t b = 0, i = 0; b < words.size(); ++b) {
        std::vector<Token>& row = tokens.emplace_back();
        for (const std::string& word : words[b]) row.push_back({word, batch.ids[i++]});
    }
    return tokens;
}

}  // namespace

Snapshot recorded_snapshot(const RecordedNumbers& numbers, const std::vector<Edit>& edits, double most_mib, const std::stop_token& stop) {
    const OpenedStep opened(numbers);
    const recording::RecordedGroup recorded = opened.recorded();
    Trace<float> trace = trace_of(recorded, most_mib, stop);
    if (!edits.empty()) trace = with_edits(std::move(trace), recorded, edits, stop);
    Snapshot made;
    made.trace = std::make_shared<const Trace<float>>(std::move(trace));
    made.edits_in_vain = edits_in_vain(*made.trace);
    made.ranges = stage_ranges(*made.trace);
    made.head_scores = head_scores(*made.trace);
    recording::RecordedWords words = words_of(numbers.recording->recording(), opened.group());
    made.tokens = tokens_of(words.queries, made.trace->tokens);
    made.source_tokens = tokens_of(words.keys, made.trace->source_tokens);
    made.vocabulary = std::move(words.all);
    for (const auto& stage : made.trace->stages) made.whole_mib += 4 * static_cast<double>(stage.value.size()) / (1024.0 * 1024.0);
    return made;
}

}  // namespace attn::app
