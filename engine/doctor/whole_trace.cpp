#include "engine/doctor/whole_trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/plan/config_json.hpp"
#include "engine/plan/plan.hpp"
#include "engine/trace/settings_json.hpp"

namespace attn::doctor {
namespace {

using Values = std::vector<double>;

bool close(double a, double b) { return std::fabs(a - b) <= 1e-6 + 1e-4 * (std::fabs(a) + std::fabs(b)); }

class WholeTrace {
public:
    explicit WholeTrace(const ArrayFile& file)
        : file_(file), config_(config_from_json(file.metadata_at("config"), file.source + ", config")), plan_(config_),
          settings_(forward_settings_from_json(file.metadata_at("settings"), file.source + ", settings")) {}

    std::optional<Diagnosis> run() {
        for (const NamedArray& array : file_.arrays) {
            const std::optional<StageId> id = stage_from_tensor_name(array.name);
            const PlanNode* node = id ? plan_.find(*id) : nullptr;
            if (node == nullptr || !read(*id, stage_) || !read_inputs(*node)) continue;
            if (node->op == Op::Norm) judge_norm(array);
            else if (node->op == Op::Rotate) judge_rotation(array, *node);
            else if (node->op == Op::Add && node->id.stage == Stage::Embedding) judge_embedding(array);
            else if (node->op == Op::Add) judge_residual(array);
            if (found_) return found_;
        }
        return std::nullopt;
    }

private:
    bool read(const StageId& id, Values& values) const {
        const NamedArray* array = file_.find(tensor_name(id));
        if (array == nullptr) return false;
        values = values_as<double>(*array, file_.source);
        return true;
    }

    /// Whether all inputs of the stage are recorded with its size.
    bool read_inputs(const PlanNode& node) {
        inputs_.clear();
        for (const StageId& input : node.inputs) {
            inputs_.emplace_back();
            if (!read(input, inputs_.back())) return false;
            if (inputs_.back().size() != stage_.size()) return false;
        }
        return !inputs_.empty();
    }

    /// The first cell that is neither kept(i) nor, with dropout, dropped(i).
    template <class Kept, class Dropped>
    std::optional<std::size_t> first_difference(double rate, const Kept& kept, const Dropped& dropped) const {
        for (std::size_t i = 0; i < stage_.size(); ++i)
            if (!close(stage_[i], kept(i)) && !(rate > 0 && close(stage_[i], dropped(i)))) return i;
        return std::nullopt;
    }

    void judge_embedding(const NamedArray& array) {
        if (inputs_.size() != 2) return;
        const double rate = settings_.dropout.embedding, factor = rate < 1 ? 1 / (1 - rate) : 0;
        const auto nothing = [](std::size_t) { return 0.0; };
        const auto cell = first_difference(
            rate, [&](std::size_t i) { return factor * (inputs_[0][i] + inputs_[1][i]); }, nothing);
        if (!cell) return;
        const bool tokens_only = !first_difference(
            rate, [&](std::size_t i) { return factor * inputs_[0][i]; }, nothing);
        find(array, *cell, inputs_[0][*cell] + inputs_[1][*cell], tokens_only ? Mistake::NoPositions : Mistake::None);
    }

    void judge_residual(const NamedArray& array) {
        if (inputs_.size() != 2) return;
        const Values &stream = inputs_[0], &result = inputs_[1];
        const double rate = settings_.dropout.residual, factor = rate < 1 ? 1 / (1 - rate) : 0;
        const auto cell = first_difference(
            rate, [&](std::size_t i) { return stream[i] + factor * result[i]; }, [&](std::size_t i) { return stream[i]; });
        if (!cell) return;
        const bool replaced = !first_difference(
            rate, [&](std::size_t i) { return factor * result[i]; }, [](std::size_t) { return 0.0; });
        find(array, *cell, stream[*cell] + factor * result[*cell], replaced ? Mistake::NoResidual : Mistake::None);
    }

    /// The file does not contain gains and biases, but a norm whose output equals its input does not normalise.
    void judge_norm(const NamedArray& array) {
        const Values& in = inputs_[0];
        if (in != stage_ || std::all_of(in.begin(), in.end(), [](double x) { return x == 0; })) return;
        find(array, 0, std::nan(""), Mistake::MissingNorm);
    }

    /// Every position but the first is rotated.
    void judge_rotation(const NamedArray& array, const PlanNode& node) {
        const Values& in = inputs_[0];
        const std::int64_t size = node.settings.rotary.size, rows = array.shape.size() < 2 ? 0 : array.shape[array.shape.size() - 2];
        if (size == 0 || rows < 2 || in != stage_ || std::all_of(in.begin(), in.end(), [](double x) { return x == 0; })) return;
        find(array, 0, std::nan(""), Mistake::NoPositions);
    }

    void find(const NamedArray& array, std::size_t cell, double expected, Mistake mistake) {
        Diagnosis out;
        out.verdict = Verdict::Wrong;
        out.bug = Bug::Other;
        out.reproduced = mistake != Mistake::None;
        out.stage = array.name;
        std::size_t rest = cell;
        for (auto size = array.shape.rbegin(); size != array.shape.rend(); ++size) {
            out.cell.insert(out.cell.begin(), static_cast<std::int64_t>(rest % static_cast<std::size_t>(*size)));
            rest /= static_cast<std::size_t>(*size);
        }
        out.max_error = std::isnan(expected) ? 0 : std::fabs(stage_[cell] - expected);
        out.explanation = std::isnan(expected) ? fmt::format("{} equals its input. ", array.name)
                                               : fmt::format("{}[{}] is {:.6g}, but {:.6g} follows from the stages before it. ", array.name,
                                                             fmt::join(out.cell, ","), stage_[cell], expected);
        if (mistake == Mistake::None) {
            out.explanation += "No known mistake gives these numbers.";
        } else {
            std::string words(mistake_info(mistake).words);
            words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
            out.explanation += fmt::format("{} ({}).", words, mistake_name(mistake));
        }
        found_ = std::move(out);
    }

    const ArrayFile& file_;
    const Config config_;
    const Plan plan_;
    const ForwardSettings settings_;
    Values stage_;
    std::vector<Values> inputs_;
    std::optional<Diagnosis> found_;
};

}  // namespace

std::optional<Diagnosis> judge_whole_trace(const ArrayFile& file) {
    const auto format = file.metadata.find("format");
    if (format == file.metadata.end() || format->second != "attnscope-trace/1") return std::nullopt;
    return WholeTrace(file).run();
}

}  // namespace attn::doctor
