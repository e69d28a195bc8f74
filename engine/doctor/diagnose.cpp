#include "engine/doctor/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/doctor/beside.hpp"
#include "engine/doctor/dropout_evidence.hpp"
#include "engine/doctor/rotation.hpp"
#include "engine/tensor/error.hpp"

namespace attn::doctor {
namespace {

std::string cell_text(const std::vector<std::int64_t>& cell) { return cell.empty() ? "" : fmt::format("[{}]", fmt::join(cell, ",")); }

std::string list_text(const std::vector<std::string>& words) {
    std::string out;
    for (std::size_t i = 0; i < words.size(); ++i) out += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
    return out;
}

std::string number_text(double x) {
    return std::isnan(x) ? "NaN" : std::isinf(x) ? (x < 0 ? "minus infinity" : "infinity") : fmt::format("{:.6g}", x);
}

/// A number that should not occur: NaN or infinite, except -inf in masked scores.
bool is_odd(Part part, double x) { return !std::isfinite(x) && !(part == Part::Masked && x < 0); }

class Diagnoser {
public:
    Diagnoser(const Attention& attention, const Hints& hints) : attention_(attention), hints_(hints) { out_.attention = attention.prefix; }

    Diagnosis run(const std::stop_token& stop) {
        if (attention_.across_heads) return heads_attend_to_heads();
        Known known{attention_.concat_may_be_projected, 0, nullptr};
        known.stop = stop;
        for (const Sequence& sequence : attention_.sequences) judged_.push_back(judge(sequence, known));
        share_position_bias(known);
        share_rotation(known);
        share_softcap(known);
        find_wrong();
        if (wrong_) explain_wrong();
        else if (!find_odd_number() && !find_dropout_left_on()) explain_right();
        for (const std::string& doubt : attention_.doubts) add(Severity::Warning, doubt);
        for (Finding& finding : observations(attention_, judged_, wrong_.has_value())) out_.findings.push_back(std::move(finding));
        return std::move(out_);
    }

private:
    void add(Severity severity, std::string sentence) {
        Finding finding;
        finding.severity = severity;
        finding.attention = attention_.prefix;
        finding.sentence = std::move(sentence);
        out_.findings.push_back(std::move(finding));
    }

    Diagnosis heads_attend_to_heads() {
        out_.verdict = Verdict::Wrong;
        out_.bug = Bug::HeadsSplitWithoutTranspose;
        for (int i = kPartCount - 1; i >= 0; --i)
            if (is_map(static_cast<Part>(i)) && !attention_.layouts[static_cast<std::size_t>(i)].tensor.empty())
                out_.stage = part_name(static_cast<Part>(i));
        out_.max_error = std::numeric_limits<double>::infinity();
        out_.explanation = "The maps are [B,T,H,H]: heads attend to heads within one position, because q, k and v were not brought to "
                           "[B,H,T,D] by a transpose after the split.";
        return std::move(out_);
    }

    /// A long sequence may show a position bias that is not apparent in a short one.
    void share_position_bias(Known known) {
        std::optional<PositionBias> most;
        for (const Judgement& judgement : judged_)
            if (judgement.bias && (!most || judgement.bias->distances > most->distances)) most = judgement.bias;
        if (!most) return;
        known.bias = &*most;
        judge_again(&Judgement::bias, known);
    }

    /// A short one does not show for certain either over which part of the heads q and k are rotated.
    void share_rotation(Known known) {
        const std::optional<Rotation> rotation = first_seen(&Judgement::rotation);
        if (!rotation) return;
        known.rotation = &*rotation;
        judge_again(&Judgement::rotation, known);
    }

    /// The cap of scores may show in some sequences only, too.
    void share_softcap(Known known) {
        known.softcap = first_seen(&Judgement::softcap);
        if (known.softcap) judge_again(&Judgement::softcap, known);
    }

    template <class Fact>
    std::optional<Fact> first_seen(std::optional<Fact> Judgement::*fact) const {
        const auto seen = std::find_if(judged_.begin(), judged_.end(), [&](const Judgement& j) { return (j.*fact).has_value(); });
        return seen == judged_.end() ? std::nullopt : (*seen).*fact;
    }

    /// Repeats the judgements that are not right and did not find the fact by themselves.
    template <class Fact>
    void judge_again(std::optional<Fact> Judgement::*fact, const Known& known) {
        for (std::size_t b = 0; b < judged_.size(); ++b)
            if (!judged_[b].right && !(judged_[b].*fact)) judged_[b] = judge(attention_.sequences[b], known);
    }

    /// Finds the sequence whose first difference is at the earliest stage.
    void find_wrong() {
        for (std::size_t b = 0; b < judged_.size(); ++b)
            if (!judged_[b].right && (!wrong_ || judged_[b].outcome.first_failure() < judged_[*wrong_].outcome.first_failure())) wrong_ = b;
    }

    /// A mistake, and how well it explains the wrong sequences.
    struct Explanation {
        const Suspect* suspect = nullptr;
        std::size_t sequences = 0;  ///< that it explains at all
        int first_failure = kPartCount, failures = 0;
        double deviation = 0;             ///< largest of all sequences
        const Judgement* last = nullptr;  ///< the sequence counted last
        bool complete(std::size_t wrong) const { return sequences == wrong && first_failure == kPartCount; }
    };

    std::vector<Explanation> explanations() const {
        std::vector<Explanation> out;
        for (const Judgement& judgement : judged_)
            for (const Suspect& suspect : judgement.suspects) {
                auto known = std::find_if(out.begin(), out.end(), [&](const Explanation& e) {
                    return e.suspect->bug == suspect.bug && (suspect.bug != Bug::Other || e.suspect->detail == suspect.detail);
                });
                if (known == out.end()) known = out.insert(out.end(), {&suspect});
                else if (known->last == &judgement) continue;
                known->last = &judgement;
                ++known->sequences;
                known->first_failure = std::min(known->first_failure, suspect.first_failure);
                known->failures += suspect.failures;
                known->deviation = std::max(known->deviation, suspect.deviation);
            }
        const auto better = [](const Explanation& a, const Explanation& b) {
            if (a.sequences != b.sequences) return a.sequences > b.sequences;
            if (a.first_failure != b.first_failure) return a.first_failure > b.first_failure;
            return a.failures < b.failures;
        };
        std::stable_sort(out.begin(), out.end(), better);
        const auto worse = std::find_if(out.begin(), out.end(), [&](const Explanation& e) { return better(out.front(), e); });
        farther_last(out.begin(), worse, [](const Explanation& e) { return e.deviation; });
        return out;
    }

    void explain_wrong() {
        const Judgement& judgement = judged_[*wrong_];
        const std::size_t wrong =
            static_cast<std::size_t>(std::count_if(judged_.begin(), judged_.end(), [](const Judgement& j) { return !j.right; }));
        const std::vector<Explanation> found = explanations();
        const int first = judgement.outcome.first_failure();
        if (first == kPartCount) throw Error("a sequence was judged wrong without a stage that differs");
        // A mask cannot make a score NaN or infinite, so what follows from such a score proves nothing.
        if (first_odd_part() <= std::min(first, static_cast<int>(Part::Capped)) && find_odd_number()) return;
        const bool explains_nan = !found.empty() && found.front().suspect->bug == Bug::MaskSign && found.front().complete(wrong);
        if ((found.empty() || nothing_but_nan(first)) && !explains_nan && find_odd_number()) return;
        place(static_cast<Part>(first), judgement);
        const bool dropout = !found.empty() && found.front().suspect->bug == Bug::DropoutLeftOn;
        if (dropout && hints_.training == true && found.front().complete(wrong)) {
            out_.verdict = Verdict::Correct;
            clear_place();
            out_.explanation = fmt::format("{} Dropout with rate {:.2f} explains what differs, as is expected in training.", right_text(),
                                           found.front().suspect->dropout_rate);
            return;
        }
        const bool complete = !found.empty() && found.front().complete(wrong);
        if (!complete && dropout_may_hide(static_cast<Part>(first))) {
            out_.verdict = Verdict::Unknown;
            out_.explanation = fmt::format("{} differs from what weights without dropout give. As this is training, "
                                           "dropped, the weights after dropout, is needed to judge it.",
                                           out_.stage);
            clear_place();
            return;
        }
        if ((found.empty() && attention_.inputs_may_be_unprojected) || (!complete && judgement.undecided != Undecided::Nothing)) {
            out_.verdict = Verdict::Unknown;
            out_.explanation = fmt::format("{} cannot be reproduced {}", out_.stage, reason_for_doubt(judgement.undecided));
            clear_place();
            return;
        }
        out_.verdict = Verdict::Wrong;
        if (found.empty()) {
            out_.bug = Bug::Other;
            // Without a rotation to compare with, what follows from q would only be q itself.
            const bool turned = static_cast<Part>(first) == Part::QRotated || static_cast<Part>(first) == Part::KRotated;
            out_.explanation = (turned && !attention_.sequences.front().rotation
                                    ? "q_rotated and k_rotated are no rotation of q and k that is known here: whole heads, both alike, in "
                                      "halves or in pairs of neighbours."
                                    : difference_ + " No known mistake gives these numbers.");
            const auto before_softmax = static_cast<Part>(first) >= Part::QRotated && static_cast<Part>(first) <= Part::Weights;
            if (static_cast<Part>(first) == Part::Masked && std::isinf(expected_) && expected_ < 0)
                out_.explanation += " A masked score must be minus infinity, or so low that its weight becomes 0.";
            else if ((static_cast<Part>(first) == Part::Masked && recorded_ < kForbidding) ||
                     (static_cast<Part>(first) == Part::Weights && recorded_ == 0 && expected_ > 0))
                out_.explanation += " More is masked than the file says: if that is intended, save the mask.";
            else if (static_cast<Part>(first) == Part::Weights && expected_ == 0 && recorded_ > 0)
                out_.explanation += " A masked key has weight.";
            else if (before_softmax && attention_.sequences.front().head_size > 0)
                out_.explanation +=
                    " If the program scales by a factor of its own, declare it as scale; if it caps its scores, declare softcap; if it "
                    "normalises or rotates in a way of its own, leave out what is recorded before that step.";
            return;
        }
        const Explanation& best = found.front();
        out_.bug = best.suspect->bug;
        out_.reproduced = best.complete(wrong);
        out_.explanation = fmt::format("{} {}{}", difference_, sentence_of(*best.suspect), consequence(best, wrong));
        std::vector<std::string> same;
        for (std::size_t i = 1; i < found.size(); ++i)
            if (found[i].complete(wrong) && best.complete(wrong) && found[i].suspect->bug != best.suspect->bug &&
                !found[i].suspect->scale_is_observed)  // an observed factor only repeats the named mistake
                same.push_back(name_of(*found[i].suspect));
        if (!same.empty())
            out_.explanation += fmt::format(" The same numbers would come from {}; they cannot be told apart here.", list_text(same));
    }

    static const char* reason_for_doubt(Undecided undecided) {
        switch (undecided) {
        case Undecided::Mask:
            return "without a mask, with a causal mask, with padding at one end, or by a known mistake: the mask or the weights are needed "
                   "to judge it.";
        case Undecided::Scale:
            return "from the scores, whatever their scale: q and k, or head_dim in the metadata, and mask are needed to judge it.";
        case Undecided::Softcap:
            return "from what the file says, but a soft cap and another scale explain it equally well: softcap, scale or more numbers are "
                   "needed to judge it.";
        case Undecided::Rotation:
            return "without the rounding that a rotation adds, which does not show at a single position: q_rotated and k_rotated are "
                   "needed "
                   "to judge it.";
        case Undecided::Nothing:
            break;
        }
        return "from the tensors given; they may be the inputs of the projections instead of their outputs.";
    }

    /// During training the context may come from dropped weights that the file does not contain.
    bool dropout_may_hide(Part first) const {
        const Sequence& sequence = attention_.sequences.front();
        return hints_.training == true && hints_.dropout != 0.0 && !sequence.has(Part::Dropped) &&
               (first == Part::Context || (first == Part::Concat && !sequence.has(Part::Context)));
    }

    static std::string name_of(const Suspect& suspect) {
        return fmt::format("{} ({})", bug_name(suspect.bug), suspect.bug == Bug::Other ? suspect.detail : bug_words(suspect.bug));
    }

    static std::string sentence_of(const Suspect& suspect) {
        if (suspect.bug == Bug::Other) return suspect.detail;
        if (suspect.bug == Bug::MaskMissing && !suspect.detail.empty()) return "Part of the mask is missing. " + suspect.detail;
        std::string words(bug_words(suspect.bug));
        if (suspect.bug == Bug::DropoutLeftOn) words += fmt::format(" with rate {:.2f}", suspect.dropout_rate);
        words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
        return words + "." + (suspect.detail.empty() ? "" : " " + suspect.detail);
    }

    std::string consequence(const Explanation& best, std::size_t wrong) const {
        if (best.complete(wrong) && best.suspect->bug == Bug::DropoutLeftOn)
            return " If this is a training step, say so in the metadata: training = true.";
        const bool may_be_meant = best.suspect->bug == Bug::NoScale && !hints_.scale && !hints_.own_trace;
        if (best.complete(wrong) && may_be_meant)
            return " If that is intended, as in T5, or q was scaled before it was recorded, say so in the metadata: scale = 1.";
        if (best.complete(wrong)) return bug_advice(best.suspect->bug).empty() ? "" : fmt::format(" {}", bug_advice(best.suspect->bug));
        if (best.sequences < wrong) return fmt::format(" This explains {} of {} sequences that differ.", best.sequences, wrong);
        return fmt::format(" This explains the stage, but {} differs too.", part_name(static_cast<Part>(best.first_failure)));
    }

    /// Names the first cell of the part that differs.
    void place(Part part, const Judgement& judgement) {
        const Comparison& comparison = *judgement.outcome.parts[static_cast<std::size_t>(part)];
        out_.stage = part_name(part);
        out_.cell = attention_.cell(part, static_cast<std::int64_t>(*wrong_), comparison.first);
        out_.max_error = 0;
        for (const Judgement& each : judged_)
            if (const auto& compared = each.outcome.parts[static_cast<std::size_t>(part)])
                out_.max_error = std::max(out_.max_error, compared->max_error);
        recorded_ = comparison.recorded;
        expected_ = comparison.expected;
        out_.beside = std::make_shared<const Beside>(beside(attention_.sequences[*wrong_], part, judgement, comparison));
        const std::string recorded = fmt::format("{}{} is {}", out_.stage, cell_text(out_.cell), number_text(comparison.recorded));
        if (std::isnan(comparison.expected) && !judgement.suspects.empty() && judgement.suspects.front().bug == Bug::AlibiSign)
            difference_ = "The bias in the file cannot be right.";
        else
            difference_ = std::isnan(comparison.expected) && (part == Part::Masked || comparison.recorded == 0)
                              ? fmt::format("{} where the mask allows attention.", recorded)
                              : fmt::format("{}, but {} follows from the stages before it.", recorded, number_text(comparison.expected));
    }
    void clear_place() {
        out_.stage.clear();
        out_.cell.clear();
        out_.beside.reset();
        out_.max_error = 0;
    }

    /// Whether every differing number of this part is NaN; a mistake that explains them then explains nothing else.
    bool nothing_but_nan(int part) const {
        return std::all_of(judged_.begin(), judged_.end(), [&](const Judgement& judgement) {
            const auto& comparison = judgement.outcome.parts[static_cast<std::size_t>(part)];
            return !comparison || comparison->nan == comparison->differing;
        });
    }

    int first_odd_part() const {
        for (int i = 0; i < kPartCount; ++i)
            for (const Sequence& sequence : attention_.sequences) {
                const Part part = static_cast<Part>(i);
                if (std::any_of(sequence[part].begin(), sequence[part].end(), [&](double x) { return is_odd(part, x); })) return i;
            }
        return kPartCount;
    }

    bool find_odd_number() {
        const int first = first_odd_part();
        if (first == kPartCount) return false;
        const Part part = static_cast<Part>(first);
        for (std::size_t b = 0; b < attention_.sequences.size(); ++b) {
            const std::vector<double>& values = attention_.sequences[b][part];
            const auto odd = std::find_if(values.begin(), values.end(), [&](double x) { return is_odd(part, x); });
            if (odd == values.end()) continue;
            out_.verdict = Verdict::Wrong;
            out_.bug = Bug::NonFinite;
            out_.stage = part_name(part);
            out_.cell = attention_.cell(part, static_cast<std::int64_t>(b), odd - values.begin());
            out_.max_error = std::numeric_limits<double>::infinity();
            out_.explanation = fmt::format("{}{} is {}, the first number that is not finite.{}", out_.stage, cell_text(out_.cell),
                                           number_text(*odd), reason_for_odd(part, b, odd - values.begin()));
            return true;
        }
        return false;
    }

    std::string reason_for_odd(Part part, std::size_t b, std::ptrdiff_t flat) const {
        const Sequence& sequence = attention_.sequences[b];
        if (part <= Part::VRotated) return " It was already in the input.";
        if (part == Part::Scores || part == Part::Scaled) return " A product is too large for its number format.";
        if (!is_map(part)) return "";
        const Keep& keep = *judged_[b].intended.keep;
        const std::ptrdiff_t row = flat / sequence.keys * sequence.keys;
        const bool empty = std::none_of(keep.begin() + row, keep.begin() + row + sequence.keys, [](std::uint8_t k) { return k != 0; });
        return empty ? " Its query may attend to no key at all, and the softmax of a row of minus infinities is NaN." : "";
    }

    /// Dropout in a file that says there should be none.
    bool find_dropout_left_on() {
        double rate = 0;
        std::size_t b = 0;
        for (std::size_t i = 0; i < judged_.size(); ++i)
            if (judged_[i].outcome.dropout_rate > rate) {
                rate = judged_[i].outcome.dropout_rate;
                b = i;
            }
        if (rate == 0) return false;
        const bool forbidden = hints_.training == false || (hints_.dropout == 0.0 && hints_.training != true);
        if (!forbidden) {
            add(Severity::Note, fmt::format("Dropout with rate {:.2f} was applied between weights and dropped, so rows of dropped do not "
                                            "sum to 1. In training that is expected.",
                                            rate));
            return false;
        }
        const Sequence& sequence = attention_.sequences[b];
        const std::vector<double>&weights = sequence[Part::Weights], &dropped = sequence[Part::Dropped];
        std::size_t first = 0;
        out_.max_error = 0;
        for (std::size_t i = weights.size(); i-- > 0;)
            if (weights[i] != 0 && weights[i] != dropped[i]) {
                first = i;
                out_.max_error = std::max(out_.max_error, std::fabs(weights[i] - dropped[i]));
            }
        out_.verdict = Verdict::Wrong;
        out_.bug = Bug::DropoutLeftOn;
        out_.stage = part_name(Part::Dropped);
        out_.cell = attention_.cell(Part::Dropped, static_cast<std::int64_t>(b), static_cast<std::int64_t>(first));
        out_.explanation = fmt::format("Dropout is on with rate {:.2f}, although {}.", rate,
                                       hints_.training == false ? "this is not training" : "its rate is meant to be 0");
        return true;
    }

    std::vector<std::string> parts_where(bool judged) const {
        std::vector<std::string> names;
        for (int i = 0; i < kPartCount; ++i) {
            const Part part = static_cast<Part>(i);
            const bool compared = std::any_of(judged_.begin(), judged_.end(),
                                              [&](const Judgement& j) { return j.outcome.parts[static_cast<std::size_t>(i)].has_value(); });
            if (attention_.sequences.front().has(part) && compared == judged) names.emplace_back(part_name(part));
        }
        return names;
    }

    std::string right_text() const {
        const std::vector<std::string> names = parts_where(true);
        if (names.empty()) return "";
        return fmt::format("{} {} from the stages before {}.", list_text(names), names.size() == 1 ? "follows" : "follow",
                           names.size() == 1 ? "it" : "them");
    }

    void explain_right() {
        const bool telling = std::any_of(judged_.begin(), judged_.end(), [](const Judgement& j) { return j.telling; });
        out_.verdict = telling ? Verdict::Correct : Verdict::Unknown;
        for (const Judgement& judgement : judged_) out_.max_error = std::max(out_.max_error, judgement.outcome.max_error());
        const std::string lacking = missing();
        if (!telling) {
            out_.explanation = "There is not enough to judge. " + lacking;
        } else if (const Judgement* doubtful = closer_to_mistake()) {
            explain_doubt(*doubtful);
        } else {
            const bool sums_only = !recomputed_weights() && attention_.sequences.front().has(Part::Weights);
            out_.explanation = sums_only && parts_where(true).size() == 1
                                   ? "The rows of the weights sum to 1, and masked cells have no weight."
                                   : fmt::format("{} The largest error is {:.3g}.", right_text(), out_.max_error);
            if (!lacking.empty()) out_.explanation += " " + lacking;
        }
        std::vector<std::string> said;
        for (const Judgement& judgement : judged_)
            for (const std::string& warning : judgement.warnings)
                if (std::find(said.begin(), said.end(), warning) == said.end()) said.push_back(warning);
        for (const std::string& warning : said) add(Severity::Warning, warning);
    }

    const Judgement* closer_to_mistake() const {
        const auto doubtful = std::find_if(judged_.begin(), judged_.end(), [](const Judgement& j) { return j.closer.has_value(); });
        return doubtful == judged_.end() ? nullptr : &*doubtful;
    }

    /// What is right within rounding may still be closer to a mistake.
    void explain_doubt(const Judgement& doubtful) {
        out_.verdict = Verdict::Unknown;
        out_.reproduced = true;
        const std::string rotated = doubtful.rotation
                                        ? fmt::format(", if q and k are rotated before their product ({})",
                                                      rotation_words(*doubtful.rotation, attention_.sequences.front().head_size))
                                        : "";
        out_.explanation = fmt::format("Within the rounding of 16-bit numbers all is right{}, but {} comes closer: the largest error "
                                       "is {:.3g}. Save the tensors in float32 to tell them apart.",
                                       rotated, name_of(*doubtful.closer), out_.max_error);
    }

    bool recomputed_weights() const {
        const Sequence& sequence = attention_.sequences.front();
        return sequence.has(Part::Masked) || sequence.has(Part::Capped) || sequence.has(Part::Scaled) || sequence.has(Part::Scores) ||
               ((sequence.has(Part::Q) || sequence.has(Part::QProj)) && (sequence.has(Part::K) || sequence.has(Part::KProj)));
    }

    /// What else would have to be recorded to judge more.
    std::string missing() const {
        const Sequence& sequence = attention_.sequences.front();
        const bool q = sequence.has(Part::Q) || sequence.has(Part::QProj), k = sequence.has(Part::K) || sequence.has(Part::KProj);
        const bool v = sequence.has(Part::V) || sequence.has(Part::VProj);
        const bool map = sequence.has(Part::Weights) || sequence.has(Part::Masked) || sequence.has(Part::Capped) ||
                         sequence.has(Part::Scaled) || sequence.has(Part::Scores);
        const bool end = sequence.has(Part::Context) || sequence.has(Part::Concat);
        std::vector<std::string> names;
        if (!q) names.emplace_back("q");
        if (!k) names.emplace_back("k");
        if (names.empty() && !map && !end)
            return "weights (or scores, or context with v) are missing: nothing that is recorded could be recomputed.";
        std::vector<std::string> sentences;
        if (!names.empty()) sentences.push_back(fmt::format("Without {} the scores and their scaling cannot be judged.", list_text(names)));
        if (end && !v) sentences.emplace_back("Without v the context cannot be judged.");
        if (sequence.keys == 1 && map) sentences.emplace_back("With a single key every weight is 1, whatever the scores are.");
        std::string out;
        for (const std::string& sentence : sentences) out += (out.empty() ? "" : " ") + sentence;
        return out;
    }

    const Attention& attention_;
    const Hints& hints_;
    std::vector<Judgement> judged_;
    std::optional<std::size_t> wrong_;
    std::string difference_;
    double recorded_ = 0, expected_ = 0;  ///< where it is
    Diagnosis out_;
};

}  // namespace

Diagnosis diagnose(const Attention& attention, const Hints& hints, const std::stop_token& stop) {
    return Diagnoser(attention, hints).run(stop);
}

}  // namespace attn::doctor
