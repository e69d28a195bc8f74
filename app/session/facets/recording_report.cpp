#include "app/session/values/recording_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/facets/ask.hpp"
#include "app/session/facets/work.hpp"
#include "app/session/states/opened_recording.hpp"
#include "engine/recording/follow.hpp"
#include "engine/tensor/error.hpp"

namespace attn::app {

namespace {

/// Texts of files, which anybody may have written.
recording::Unfollowed escaped_in(const recording::Unfollowed& one) {
    return {escaped(one.what, 0), escaped(one.line, 0), escaped(one.todo, 0)};
}

std::vector<recording::CodeFinding> escaped_in(std::vector<recording::CodeFinding> findings) {
    for (recording::CodeFinding& finding : findings)
        for (std::string* text : {&finding.stage, &finding.line, &finding.text}) *text = escaped(*text, 0);
    return findings;
}

using Missing = RecordingReport::Missing;

/// The stages of the group's i-th attention that its trace lacks.
std::vector<Missing> missing_in(const OpenedStep& opened, std::size_t i, const std::vector<recording::StageCheck>& checks,
                                const attn::Trace<float>& trace) {
    std::vector<Missing> missing;
    const recording::RecordedAttention& attention = opened.graph().attentions[opened.group().members[i]];
    for (std::size_t place = 0; place < attention.stages.size(); ++place) {
        const recording::RecordedStage& stage = attention.stages[place];
        const std::optional<StageId> id = place_of(opened.group(), attention, stage, i);
        if (!id || trace.find(*id) != nullptr) continue;
        const auto lost = std::find_if(trace.lost.begin(), trace.lost.end(), [&](const LostStage& each) { return each.id == *id; });
        if (lost != trace.lost.end()) {
            missing.push_back({*id, escaped(stage.name, 0), lost->why, true});
            continue;
        }
        const bool is_there = opened.step().find(full_name(attention, stage)) != nullptr;
        missing.push_back({*id, escaped(stage.name, 0), is_there ? "its size is not that of the other stages" : checks[place].reason});
    }
    return missing;
}

std::string words_for(const recording::AttentionGroup& group, const recording::RecordedGraph& graph) {
    const std::string& first = group.matrices.empty() ? graph.attentions[group.members.front()].name : group.matrices.front();
    const std::string more = group.layers() > 1 ? fmt::format(" and {} more", group.layers() - 1) : "";
    return fmt::format("{}{}, {} × {}", first.empty() ? "attention" : escaped(first), more, group.queries, group.keys);
}

}  // namespace

Job<RecordingReport> facet::RecordingReport::make(const RecordingReport&, Ask& ask) {
    return [state = ask.state(), pass = ask(Trace{})](const Work& work) {
        const RecordedNumbers* numbers = recorded_in(*state);
        if (numbers == nullptr) throw Error("what is shown is no recording");
        const OpenedStep opened(*numbers);
        app::RecordingReport report;
        for (const recording::AttentionGroup& group : opened.groups()) report.groups.push_back(words_for(group, opened.graph()));
        for (const std::string& matrix : opened.group().matrices) {
            report.attentions.push_back({escaped(matrix, 0), ""});
            const StageId id = place_of_matrix(opened.group(), report.attentions.size() - 1);
            for (const LostStage& lost : pass->trace->lost)
                if (lost.id == id) report.attentions.back().missing.push_back({id, escaped(matrix, 0), lost.why, true});
        }
        for (const std::size_t member : opened.group().members) {
            const recording::RecordedAttention& attention = opened.graph().attentions[member];
            auto checks = check_stages(opened.graph(), attention, opened.step(), opened.parameter(), work.stop);
            auto findings = escaped_in(findings_in(opened.graph(), attention, opened.step(), checks));
            std::vector<Missing> missing = missing_in(opened, report.attentions.size(), checks, *pass->trace);
            report.attentions.push_back(
                {escaped(attention.name, 0), escaped(attention.source, 0), std::move(findings), std::move(checks), std::move(missing)});
            for (const recording::Unfollowed& one : attention.unfollowed) report.unfollowed.push_back(escaped_in(one));
        }
        report.around = escaped_in(findings_around(opened.graph()));
        const recording::Recording& whole = numbers->recording->recording();
        for (const recording::Unfollowed& one : whole.unfollowed) report.unfollowed.push_back(escaped_in(one));
        report.error = escaped(whole.error, 0);
        return report;
    };
}

}  // namespace attn::app
