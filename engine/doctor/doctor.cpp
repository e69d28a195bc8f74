#include "engine/doctor/doctor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <span>

#include "engine/doctor/diagnose.hpp"
#include "engine/doctor/keep_patterns.hpp"
#include "engine/doctor/whole_trace.hpp"
#include "engine/io/file_error.hpp"
#include "engine/io/input_file.hpp"
#include "engine/io/npz.hpp"
#include "engine/io/safetensors.hpp"

namespace attn::doctor {
namespace {

/// Whether the mask makes sense as read; if not, its inverse is the better guess: nobody intends a row that may attend to nothing.
bool masks_are_sane(const Attention& attention) {
    for (const Sequence& sequence : attention.sequences) {
        if (!sequence.intent.given) continue;
        if (mistaken_pattern(sequence, sequence.intent.keep)) return false;
        for (std::size_t row = 0; row < sequence.intent.keep.size(); row += static_cast<std::size_t>(sequence.keys)) {
            const auto begin = sequence.intent.keep.begin() + static_cast<std::ptrdiff_t>(row);
            if (std::none_of(begin, begin + sequence.keys, [](std::uint8_t keep) { return keep != 0; })) return false;
        }
    }
    return true;
}

/// Lower is better. Numbers that follow from one another are no coincidence.
int rank(const Diagnosis& diagnosis) {
    if (diagnosis.verdict == Verdict::Correct || (diagnosis.verdict == Verdict::Unknown && diagnosis.reproduced)) return 0;
    if (diagnosis.reproduced || diagnosis.bug == Bug::NonFinite) return 1;
    return diagnosis.verdict == Verdict::Unknown ? 2 : 3;
}

std::string some_of(const std::vector<std::string>& names) {
    constexpr std::size_t kMost = 8;
    std::vector<std::string> some;
    for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) some.push_back(escaped(names[i]));
    return fmt::format("{}{}", fmt::join(some, ", "), names.size() > kMost ? ", ..." : "");
}

/// A sentence about unrecognized names, one of which may be what is missing.
std::string not_known(const std::vector<std::string>& names) {
    return names.empty() ? "" : fmt::format(" Unknown names: {}.", some_of(names));
}

Diagnosis examine_group(const ArrayFile& file, const Group& group, const Hints& hints, const std::stop_token& stop) {
    std::optional<Diagnosis> best;
    std::exception_ptr misfit;
    bool literal_is_sane = false;
    for (const Reading& reading : readings(file, group)) {
        try {
            const Attention attention = interpret(file, group, hints, reading);
            if (reading == Reading{}) literal_is_sane = masks_are_sane(attention);
            if (reading.flip_mask && literal_is_sane && !masks_are_sane(attention)) continue;
            Diagnosis diagnosis = diagnose(attention, hints, stop);
            if (!best || rank(diagnosis) < rank(*best)) best = std::move(diagnosis);
            if (rank(*best) == 0) break;
        } catch (const FileError&) {
            if (misfit == nullptr) misfit = std::current_exception();
        }
    }
    if (!best) std::rethrow_exception(misfit);
    for (const std::string& name : group.outputs)
        best->findings.push_back({Severity::Note,
                                  group.prefix,
                                  "",
                                  {},
                                  -1,
                                  escaped(name) + " is not used: weights have no negative numbers, so it is the output of the attention."});
    if (best->verdict == Verdict::Unknown) best->explanation += not_known(group.unknown);
    else if (const std::string names = some_of(group.unknown); !names.empty())
        best->findings.push_back({Severity::Warning,
                                  group.prefix,
                                  "",
                                  {},
                                  -1,
                                  group.unknown.size() == 1
                                      ? names + " was not read, so what it holds is not judged: the name is unknown."
                                      : names + " were not read, so what they hold is not judged: the names are unknown."});
    return *std::move(best);
}

/// The first wrong attention stands for the file; named mistakes take precedence over unexplained differences.
Diagnosis combined(std::vector<Diagnosis> each) {
    if (each.size() == 1) return std::move(each.front());
    const auto with = [&](Verdict verdict) {
        return std::count_if(each.begin(), each.end(), [&](const Diagnosis& d) { return d.verdict == verdict; });
    };
    const auto wrong = with(Verdict::Wrong), correct = with(Verdict::Correct);
    const auto first = std::find_if(each.begin(), each.end(), [&](const Diagnosis& d) {
        return d.verdict == (wrong > 0 ? Verdict::Wrong : correct > 0 ? Verdict::Correct : Verdict::Unknown);
    });
    Diagnosis out = *first;
    const auto unjudged = std::find_if(each.begin(), each.end(), [](const Diagnosis& d) { return d.verdict == Verdict::Unknown; });
    const std::string not_judged =
        unjudged == each.end() || wrong > 0 || correct == 0
            ? ""
            : fmt::format(" Not judged: {}{}", unjudged->attention.empty() ? "" : escaped(unjudged->attention) + ": ",
                          unjudged->explanation);
    out.findings.clear();
    for (Diagnosis& diagnosis : each) {
        if (wrong == 0) out.max_error = std::max(out.max_error, diagnosis.max_error);
        for (Finding& finding : diagnosis.findings) out.findings.push_back(std::move(finding));
    }
    const std::string where = first->attention.empty() ? "" : escaped(first->attention) + ": ";
    if (wrong > 0)
        out.explanation =
            fmt::format("{}{} ({} of {} attentions {} wrong.)", where, out.explanation, wrong, each.size(), wrong == 1 ? "is" : "are");
    else if (correct > 0)
        out.explanation = fmt::format("{} of {} attentions are correct as far as they can be judged. {}{}{}", correct, each.size(), where,
                                      out.explanation, not_judged);
    return out;
}

void list_wrong(Diagnosis& diagnosis) {
    if (diagnosis.verdict != Verdict::Wrong) return;
    diagnosis.findings.insert(diagnosis.findings.begin(), {Severity::Wrong, diagnosis.attention, diagnosis.stage, diagnosis.cell, -1,
                                                           diagnosis.explanation, diagnosis.bug, diagnosis.beside});
}

}  // namespace

void Examination::add(const ArrayFile& part, const std::stop_token& stop) {
    const Dump dump = sort_dump(part);
    for (const SkippedArray& one : part.skipped) {
        Finding& finding = skipped_.emplace_back();
        finding.severity = Severity::Warning;
        finding.sentence = fmt::format("\"{}\" was left out: {}.", escaped(one.name), one.why);
    }
    has_other_parts_ |= dump.hints.has_other_parts;
    for (const Group& group : dump.groups) {
        attentions_.push_back(examine_group(part, group, dump.hints, stop));
        list_wrong(attentions_.back());
    }
    const bool is_wrong =
        std::any_of(attentions_.begin(), attentions_.end(), [](const Diagnosis& one) { return one.verdict == Verdict::Wrong; });
    if (!outside_ && !is_wrong) outside_ = judge_whole_trace(part);
    if (!attentions_.empty()) return names_.clear();
    for (const NamedArray& array : part.arrays) names_.push_back(array.name);
}

Diagnosis Examination::conclude() {
    Diagnosis diagnosis = judge();
    diagnosis.findings.insert(diagnosis.findings.end(), skipped_.begin(), skipped_.end());
    return diagnosis;
}

Diagnosis Examination::judge() {
    if (attentions_.empty()) {
        Diagnosis nothing;
        nothing.explanation =
            "There is no attention in the file: it needs tensors such as q, k, v, scores, weights or context, with or without a prefix.";
        nothing.explanation += not_known(names_);
        return nothing;
    }
    Diagnosis attentions = combined(std::move(attentions_));
    if (attentions.verdict == Verdict::Wrong && has_other_parts_) {
        Diagnosis unknown;
        unknown.explanation = "This model's attention has steps that the doctor does not compute, such as norms of queries and keys, "
                              "distance biases or an unusual scale: it can neither name a mistake nor rule one out.";
        return unknown;
    }
    if (attentions.verdict == Verdict::Wrong || !outside_) return attentions;
    list_wrong(*outside_);
    outside_->findings.insert(outside_->findings.end(), attentions.findings.begin(), attentions.findings.end());
    return *std::move(outside_);
}

Diagnosis examine(const ArrayFile& file, const std::stop_token& stop) {
    Examination examination;
    examination.add(file, stop);
    return examination.conclude();
}

namespace {

/// Tells the usual wrong files apart from damaged ones.
ArrayFile read_dump(const std::filesystem::path& path, const std::stop_token& stop) {
    const auto refuse = [&](const char* problem) { return FileError(FileFault::Unsupported, escaped(path.native(), 0), "", problem); };
    InputFile input(path, {.max_bytes = std::numeric_limits<std::uint64_t>::max(), .stop = stop});
    if (input.size() > ReadLimits{}.max_bytes)
        throw FileError(FileFault::Limit, input.name(), "",
                        "is larger than 4 GiB: a dump is read into memory as a whole, so save fewer layers or shorter texts in one file");
    std::string start(std::min<std::uint64_t>(6, input.size()), '\0');
    input.read(std::as_writable_bytes(std::span(start)));
    if (start == "\x93NUMPY") throw refuse("a single array has no name: put it into an .npz with numpy.savez(..., q=q, k=k)");
    const bool is_archive = start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06");
    if (path.extension() == ".npz") return read_npz(path);
    if (is_archive) throw refuse("is an archive, as torch.save() writes it: save the tensors with numpy.savez() or as safetensors");
    return read_safetensors(path);
}

}  // namespace

Diagnosis examine_file(const std::filesystem::path& path, const std::stop_token& stop) { return examine(read_dump(path, stop), stop); }

}  // namespace attn::doctor
