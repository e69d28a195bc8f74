#include "app/session/facets/examine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/session/values/part_looked_at.hpp"
#include "engine/doctor/doctor.hpp"
#include "engine/explain/edit_list.hpp"
#include "engine/model/recomputation.hpp"
#include "engine/tensor/error.hpp"
#include "engine/trace/trace_file.hpp"

namespace attn::app {

namespace {

/// Logits and probabilities are large, and the doctor checks nothing in them.
bool is_judged(const StageId& id) { return id.stage != Stage::Logits && id.stage != Stage::Probabilities; }

doctor::Diagnosis examine_parts(const std::shared_ptr<const Trace<float>>& outline, const std::stop_token& stop) {
    doctor::Examination examination;
    const Plan& plan = *outline->plan;
    for (std::size_t place = 0; place < plan.nodes().size();) {
        const StageId& id = plan.nodes()[place].id;
        place = plan.part_around(id).end;
        const ArrayFile part = trace_arrays(Recomputation<float>(outline, Keep::OneLayer).trace_around(id, stop, is_judged));
        examination.add(part, stop);
        if (stop.stop_requested()) throw Cancelled();
    }
    return examination.conclude();
}

/// Which edit set the number that a finding is about, counted from 1; 0 if none did.
std::size_t edit_behind(const doctor::Finding& finding, const Trace<float>& trace) {
    const std::string name = finding.attention.empty() ? finding.stage : finding.attention + "." + finding.stage;
    const std::optional<StageId> id = stage_from_tensor_name(name);
    if (!id) return 0;
    CellRef cell{*id, "", {}};
    std::copy_n(finding.cell.begin(), std::min(finding.cell.size(), cell.index.size()), cell.index.begin());
    std::size_t last = trace.settings.edits.size();
    while (last > 0 && !reaches(trace.settings.edits[last - 1], trace, cell)) --last;
    return last;
}

/// The first finding that is still wrong stands for all.
void lead_with_what_is_wrong(doctor::Diagnosis& diagnosis) {
    const auto first = std::find_if(diagnosis.findings.begin(), diagnosis.findings.end(),
                                    [](const doctor::Finding& finding) { return finding.severity == doctor::Severity::Wrong; });
    if (first == diagnosis.findings.end()) return diagnosis.bug.reset();
    diagnosis.bug = first->bug;
    diagnosis.attention = first->attention;
    diagnosis.stage = first->stage;
    diagnosis.cell = first->cell;
}

/// What was set by hand is nobody's mistake, so the findings name the edit instead.
void explain_edits(DoctorReport& report, const Trace<float>& trace) {
    doctor::Diagnosis& diagnosis = report.diagnosis;
    if (diagnosis.verdict != doctor::Verdict::Wrong) return;
    report.by_hand = true;
    for (doctor::Finding& finding : diagnosis.findings) {
        if (finding.severity != doctor::Severity::Wrong) continue;
        const std::size_t edit = edit_behind(finding, trace);
        report.by_hand = report.by_hand && edit > 0;
        if (edit == 0) continue;
        finding.severity = doctor::Severity::Note;
        finding.bug.reset();
        finding.sentence = fmt::format("This number was set by hand, in edit {} of {}, so it does not follow from the stages before it.",
                                       edit, trace.settings.edits.size());
    }
    lead_with_what_is_wrong(diagnosis);
    if (report.by_hand) diagnosis.explanation = "Numbers were set by hand. Switch the edits off to have the rest judged.";
}

}  // namespace

void expect_to_be_judged(const Trace<float>& trace) {
    const auto heads = static_cast<double>(trace.config.num_heads);
    const std::int64_t positions = std::max(trace.tokens.length, trace.source_tokens.length);
    const double most = std::floor(std::sqrt(doctor::kMostJudgedCells / heads));
    if (static_cast<double>(positions) > most)
        throw Error(fmt::format("the doctor examines texts of up to {:.0f} tokens for a model with {:.0f} heads, and this one has {}", most,
                                heads, positions));
}

double mib_to_examine(const Trace<float>& trace, bool at_once) {
    // Measured: the numbers of one attention as doubles, plus the results that known mistakes would give.
    constexpr double kOfOnePart = 8;
    const Plan& plan = *trace.plan;
    double all = 0, largest = 0;
    for (std::size_t place = 0; place < plan.nodes().size();) {
        double part = 0;
        for (const std::size_t end = plan.part_around(plan.nodes()[place].id).end; place < end; ++place)
            if (is_judged(plan.nodes()[place].id)) part += mib_of_stage(trace, plan.nodes()[place].id);
        all += part;
        largest = std::max(largest, part);
    }
    // Counts the stages and the copies that are examined.
    return 2 * (at_once ? all : largest) + kOfOnePart * largest;
}

DoctorReport examine_trace(const std::shared_ptr<const Trace<float>>& trace, const std::stop_token& stop) {
    DoctorReport report;
    if (!trace->whole()) {
        report.diagnosis = examine_parts(trace, stop);
        explain_edits(report, *trace);
        return report;
    }
    report.diagnosis = doctor::examine(trace_arrays(*trace), stop);
    explain_edits(report, *trace);
    const std::int64_t length = trace->tokens.lengths.empty() ? 0 : trace->tokens.lengths.front();
    if (!is_tested_for_future(*trace) || trace->config.vocab_size < 2) return report;
    for (std::int64_t position = 1; position < length; ++position) {
        if (stop.stop_requested()) throw Cancelled();
        report.future.push_back({position, doctor::future_leaks(*trace, 0, position, stop)});
    }
    return report;
}

}  // namespace attn::app
