#include "engine/recording/joined_ranks.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "engine/io/file_error.hpp"
#include "engine/recording/follower.hpp"
#include "engine/recording/recorded_step.hpp"

namespace attn::recording {
namespace {

bool is_stream(const RecordedStage& stage) {
    return stage.axes == "BTC" && (stage.op == "norm" || stage.op == "add" || stage.op == "embedding" || stage.name == "embedding");
}

/// One process: its graph, and the step by which it is compared with the others.
struct Process {
    const RecordedGraph* graph;
    RecordedStep step;
    FindParameter parameter;
};

/// Finds out how the tensors of processes with equal graphs are joined.
class Joining {
public:
    explicit Joining(std::vector<Process> processes) : processes_(std::move(processes)), graph_(*processes_.front().graph) {}

    /// Nothing if the processes do not have parts of one model, nor all of it.
    std::optional<std::pair<RecordedGraph, Joints>> joined() {
        if (!have_equal_graphs()) return {};
        for (const RecordedAttention& attention : graph_.attentions)
            if (differs_in_heads(attention)) divided_.insert(&attention);
        if (!divided_.empty() && (has_replicas_ || !are_parts_of_one_model())) return {};
        // Attentions first: what lies around them can have their parameters.
        for (const RecordedAttention& attention : graph_.attentions)
            for (const RecordedStage& stage : attention.stages) take(stage, &attention);
        for (const RecordedStage& stage : graph_.around) take(stage, nullptr);
        take_gradients();
        return std::pair(whole_graph(), std::move(joints_));
    }

    bool is_divided() const { return !divided_.empty(); }
    /// Whether the result of a map was the same in all processes only because it was nothing but zeros.
    bool saw_zeros() const { return saw_zeros_; }

private:
    static bool are_alike(const RecordedStage& a, const RecordedStage& b) {
        return a.name == b.name && a.op == b.op && a.axes == b.axes && a.parameters == b.parameters && a.channels == b.channels;
    }

    bool have_equal_graphs() const {
        const auto equal = [](const RecordedAttention& a, const RecordedAttention& b) {
            return a.name == b.name && a.sizes == b.sizes &&
                   std::equal(a.stages.begin(), a.stages.end(), b.stages.begin(), b.stages.end(), are_alike);
        };
        return std::all_of(processes_.begin() + 1, processes_.end(), [&](const Process& other) {
            const RecordedGraph& graph = *other.graph;
            return std::equal(graph_.attentions.begin(), graph_.attentions.end(), graph.attentions.begin(), graph.attentions.end(),
                              equal) &&
                   std::equal(graph_.around.begin(), graph_.around.end(), graph.around.begin(), graph.around.end(), are_alike);
        });
    }

    bool is_in_all(const std::string& name) const {
        return std::all_of(processes_.begin(), processes_.end(), [&](const Process& each) { return each.step.find(name) != nullptr; });
    }

    /// Whether every process has the same numbers under a name.
    bool is_same(const std::string& name) {
        if (!is_in_all(name)) return false;
        const auto [found, is_new] = same_.emplace(name, true);
        if (!is_new) return found->second;
        const NamedArray first = processes_.front().step.read(name);
        for (std::size_t i = 1; i < processes_.size() && found->second; ++i) found->second = processes_[i].step.read(name) == first;
        return found->second;
    }

    bool is_zero(const std::string& name) const {
        const NamedArray array = processes_.front().step.read(name);
        return std::all_of(array.bytes.begin(), array.bytes.end(), [](std::byte each) { return each == std::byte{0}; });
    }

    std::vector<NamedArray> parameters(const std::string& name) const {
        std::vector<NamedArray> all;
        for (const Process& each : processes_)
            if (std::optional<NamedArray> found = each.parameter(name)) all.push_back(std::move(*found));
        if (all.size() != processes_.size()) all.clear();
        return all;
    }

    static bool are_same(const std::vector<NamedArray>& arrays) {
        return std::adjacent_find(arrays.begin(), arrays.end(), std::not_equal_to<>()) == arrays.end();
    }

    /// Whether each process has heads of its own. Where some have the same ones, as with a replica of the model beside each part, it is not
    /// said which belong together.
    bool differs_in_heads(const RecordedAttention& attention) {
        for (const RecordedStage& stage : attention.stages) {
            const std::string name = full_name(attention, stage);
            if (stage.axes.find('H') == std::string::npos || !is_in_all(name) || is_same(name)) continue;
            std::vector<NamedArray> parts;
            for (const Process& each : processes_) parts.push_back(each.step.read(name));
            for (std::size_t i = 0; i < parts.size(); ++i)
                for (std::size_t j = 0; j < i; ++j)
                    if (parts[i] == parts[j]) has_replicas_ = true;
            return true;
        }
        return false;
    }

    /// The same numbers run through all processes beside their attentions. Models that read the same text, each for itself, have the same
    /// words and differ afterwards. Where nothing else was recorded, the sizes decide: all heads together are as wide as what enters.
    bool are_parts_of_one_model() {
        std::size_t streams = 0, entering = 0;
        for (const RecordedStage& stage : graph_.around) {
            if (!is_stream(stage) || !is_in_all(stage.name)) continue;
            if (!is_same(stage.name)) return false;
            ++streams;
        }
        for (const RecordedAttention* attention : divided_)
            for (const RecordedStage& stage : attention->stages) {
                if (stage.op != "linear" || stage.inputs.empty() || stage.axes.find_first_of("HG") == std::string::npos) continue;
                const std::string& input = stage.inputs.front();
                if (!is_in_all(input)) continue;
                if (!is_same(input)) return false;
                const std::vector<std::int64_t>& shape = processes_.front().step.find(input)->shape;
                const std::int64_t width = attention->size('H') * attention->size('D') * std::ssize(processes_);
                if (stage.name == "q" && !shape.empty() && shape.back() == width) ++entering;
            }
        return streams > 1 || entering > 0;
    }

    static std::string parameter_name(const RecordedStage& stage, std::size_t i) { return std::string(kParameters) + stage.parameters[i]; }

    std::string named(const std::string& input, const RecordedAttention* attention) const {
        const RecordedStage* own = attention == nullptr ? nullptr : attention->find(input);
        return own == nullptr ? input : full_name(*attention, *own);
    }

    void take(const RecordedStage& stage, const RecordedAttention* attention) {
        const std::string name = attention == nullptr ? stage.name : full_name(*attention, stage);
        const Joint joint = is_in_all(name) ? joint_of(stage, name, attention) : Joint();
        joints_[name] = joint;
        if (stage.op == "linear") take_map(stage, joint, attention);
        else
            for (const std::string& parameter : stage.parameters)
                if (are_same(parameters(parameter))) joints_[std::string(kParameters) + parameter] = {.how = Joint::How::Same};
    }

    Joint joint_of(const RecordedStage& stage, const std::string& name, const RecordedAttention* attention) {
        const std::vector<std::int64_t>& shape = processes_.front().step.find(name)->shape;
        const bool is_divided = attention == nullptr || divided_.contains(attention);
        const std::size_t heads = stage.axes.find_first_of("HG");
        const bool has_heads = is_divided && heads != std::string::npos && shape.size() == stage.axes.size();
        if (has_heads && attention != nullptr && stage.axes[heads] == 'G' && is_same(name)) {
            sharing_.insert(attention);
            return {.how = Joint::How::Same};
        }
        if (has_heads && attention != nullptr && shape[heads] == attention->size(stage.axes[heads]))
            return {.how = Joint::How::Beside, .axis = heads};
        if (is_same(name)) {
            saw_zeros_ = saw_zeros_ || (stage.op == "linear" && is_zero(name));
            return {.how = Joint::How::Same};
        }
        if (has_heads) return {.how = Joint::How::Beside, .axis = heads};
        if (stage.op == "concat" && is_divided && attention != nullptr) return joint_of_concat(stage, shape, *attention);
        if (stage.op == "linear") return joint_of_map(stage, shape, attention);
        for (const std::string& input : stage.inputs) {
            const auto found = joints_.find(named(input, attention));
            if (found == joints_.end() || found->second.how != Joint::How::Beside) continue;
            const std::vector<std::int64_t>& before = processes_.front().step.find(found->first)->shape;
            if (before.size() == shape.size() && before == shape) return found->second;
        }
        return {};
    }

    static Joint joint_of_concat(const RecordedStage& stage, const std::vector<std::int64_t>& shape, const RecordedAttention& attention) {
        constexpr std::int64_t kMostBlocks = 1 << 16;
        const std::int64_t heads = attention.size('H');
        if (shape.empty() || heads < 1 || (heads > 1 && stage.channels.find('H') == std::string::npos)) return {};
        Joint joint{.how = Joint::How::Beside, .axis = shape.size() - 1};
        if (heads == 1 || stage.channels.starts_with('H')) return joint;
        // Of a width that is the outer one, each number has its heads side by side.
        if (shape.back() / heads > kMostBlocks) return {};
        joint.blocks.assign(static_cast<std::size_t>(shape.back() / heads), heads);
        return joint;
    }

    /// Of a map whose parameters differ: with the same input, each process has columns of the result; with parts of it, partial sums.
    Joint joint_of_map(const RecordedStage& stage, const std::vector<std::int64_t>& shape, const RecordedAttention* attention) {
        if (stage.inputs.empty() || shape.empty()) return {};
        const std::string input = named(stage.inputs.front(), attention);
        if (!is_in_all(input)) return {};
        if (!is_same(input)) return {.how = Joint::How::Sum};
        Joint columns{.how = Joint::How::Beside, .axis = shape.size() - 1};
        if (attention == nullptr && is_cut_in_halves(stage, shape)) columns.blocks = {shape.back() / 2, shape.back() / 2};
        if (attention != nullptr || stage.parameters.empty()) return columns;
        if (const auto known = joints_.find(parameter_name(stage, 0)); known != joints_.end()) columns.blocks = known->second.blocks;
        return columns;
    }

    /// A gate and what passes it, from one map.
    bool is_cut_in_halves(const RecordedStage& stage, const std::vector<std::int64_t>& shape) const {
        return std::any_of(graph_.around.begin(), graph_.around.end(), [&](const RecordedStage& reader) {
            const NamedArray* half = processes_.front().step.find(reader.name);
            return std::find(reader.inputs.begin(), reader.inputs.end(), stage.name) != reader.inputs.end() && half != nullptr &&
                   !half->shape.empty() && half->shape.back() * 2 == shape.back();
        });
    }

    void take_map(const RecordedStage& stage, const Joint& joint, const RecordedAttention* attention) {
        if (stage.parameters.empty() || joints_.contains(parameter_name(stage, 0))) return;
        const auto place = [&](std::size_t i) -> Joint& { return joints_[parameter_name(stage, i)]; };
        const std::vector<NamedArray> weights = parameters(stage.parameters.front());
        const std::vector<NamedArray> biases = stage.parameters.size() > 1 ? parameters(stage.parameters[1]) : std::vector<NamedArray>();
        if (weights.empty()) return;
        const Joint same{.how = Joint::How::Same};
        const bool has_columns = joint.how == Joint::How::Beside;
        const bool reads_part =
            !stage.inputs.empty() && is_in_all(named(stage.inputs.front(), attention)) && !is_same(named(stage.inputs.front(), attention));
        // Equal weights, such as those that begin as zeros, cannot read different parts.
        place(0) = are_same(weights) && !reads_part ? same : joint_of_weight(stage, weights.front(), has_columns, attention);
        if (attention == nullptr && has_columns && place(0).how == Joint::How::Beside) place(0).blocks = joint.blocks;
        if (biases.empty()) return;
        if (place(0).how == Joint::How::Unknown) return;
        if (has_columns && place(0).how == Joint::How::Beside) place(1) = {.how = Joint::How::Beside, .axis = 0, .blocks = place(0).blocks};
        else place(1) = are_same(biases) ? same : Joint{.how = Joint::How::Sum};
    }

    /// A weight is [out, in], or [in, out]; parts of columns differ in `out`, those of partial sums in `in`.
    Joint joint_of_weight(const RecordedStage& stage, const NamedArray& weight, bool has_columns, const RecordedAttention* attention) {
        if (weight.shape.size() != 2 || stage.inputs.empty()) return {};
        const NamedArray* input = processes_.front().step.find(named(stage.inputs.front(), attention));
        if (input == nullptr || input->shape.empty()) return {};
        const std::int64_t in = input->shape.back();
        bool transposed = weight.shape[0] == in;
        if (transposed == (weight.shape[1] == in)) {
            const std::optional<FittingMap> fitting = transposed ? fitting_map(stage, attention) : std::nullopt;
            if (!fitting) return {};
            transposed = fitting->transposed;
        }
        const std::size_t in_axis = transposed ? 0 : 1;
        if (!has_columns) return {.how = Joint::How::Beside, .axis = in_axis};
        Joint joint{.how = Joint::How::Beside, .axis = 1 - in_axis};
        if (attention == nullptr) return joint;
        const std::optional<std::vector<std::int64_t>> blocks = blocks_of(stage, weight.shape[1 - in_axis], *attention);
        if (!blocks) return {};
        joint.blocks = *blocks;
        return joint;
    }

    std::optional<FittingMap> fitting_map(const RecordedStage& stage, const RecordedAttention* attention) {
        static const RecordedAttention kNone;
        const Process& first = processes_.front();
        Follower follower(graph_, attention == nullptr ? kNone : *attention, first.step, first.parameter);
        follower.read_all_attentions();
        try {
            const std::optional<Numbers> recorded = follower.recorded(stage);
            return recorded ? follower.fitting_map(stage, *recorded) : std::nullopt;
        } catch (const NotComputed&) {
            return {};
        }
    }

    /// The columns of one weight that makes several of q, k and v, one after another; nothing if they are in another order.
    std::optional<std::vector<std::int64_t>> blocks_of(const RecordedStage& stage, std::int64_t columns,
                                                       const RecordedAttention& attention) {
        std::vector<const RecordedStage*> made;
        for (const RecordedStage& each : attention.stages)
            if (each.op == "linear" && !each.parameters.empty() && each.parameters.front() == stage.parameters.front())
                made.push_back(&each);
        if (made.size() == 1) return std::vector<std::int64_t>();
        std::vector<std::int64_t> widths;
        std::int64_t all = 0;
        for (const RecordedStage* each : made) {
            const std::size_t heads = each->axes.find_first_of("HG");
            const NamedArray* numbers = processes_.front().step.find(full_name(attention, *each));
            if (numbers == nullptr || heads == std::string::npos || numbers->shape.size() != each->axes.size()) return {};
            const std::optional<FittingMap> fitting = fitting_map(*each, &attention);
            if (!fitting || fitting->first != all) return {};
            widths.push_back(numbers->shape[heads] * numbers->shape.back());
            all += widths.back();
        }
        return all == columns ? std::optional(std::move(widths)) : std::nullopt;
    }

    void take_gradients() {
        Joints gradients;
        for (const auto& [name, joint] : joints_)
            if (joint.how == Joint::How::Beside && is_in_all(name + ".grad")) gradients[name + ".grad"] = joint;
        joints_.merge(gradients);
    }

    /// The first process's graph with all heads.
    RecordedGraph whole_graph() const {
        RecordedGraph whole = graph_;
        const auto forget_unknown = [this](RecordedStage& stage, const std::string& name) {
            const auto found = joints_.find(name);
            if (stage.have != Have::Recorded || (found != joints_.end() && found->second.how != Joint::How::Unknown)) return;
            stage.have = Have::No;
            stage.reason = "each process has a part of it, and how they belong together is not known";
        };
        for (std::size_t i = 0; i < whole.attentions.size(); ++i) {
            RecordedAttention& attention = whole.attentions[i];
            for (RecordedStage& stage : attention.stages) forget_unknown(stage, full_name(attention, stage));
            if (!divided_.contains(&graph_.attentions[i])) continue;
            const bool shares = sharing_.contains(&graph_.attentions[i]);
            const std::int64_t heads = attention.size('H');
            for (auto& [letter, size] : attention.sizes)
                if (letter == 'H' || (letter == 'G' && !shares)) size *= std::ssize(processes_);
            if (shares) attention.repeat *= std::ssize(processes_);
            for (RecordedStage& stage : attention.stages)
                if (stage.op == "concat" && heads == 1 && stage.channels.size() == 1) stage.channels = "H" + stage.channels;
        }
        for (RecordedStage& stage : whole.around) forget_unknown(stage, stage.name);
        return whole;
    }

    std::vector<Process> processes_;
    const RecordedGraph& graph_;
    std::set<const RecordedAttention*> divided_;  ///< whose heads are among the processes
    std::set<const RecordedAttention*> sharing_;  ///< of these, those of which all processes have the same keys and values
    bool has_replicas_ = false, saw_zeros_ = false;
    std::map<std::string, bool> same_;
    Joints joints_;
};

/// The steps that all ranks have; of each the first rank's file, beside those of the others.
std::vector<StepFile> common_steps(std::span<const Recording> ranks) {
    std::vector<StepFile> common;
    for (StepFile step : ranks.front().steps) {
        for (const Recording& other : ranks.subspan(1)) {
            const auto found = std::lower_bound(other.steps.begin(), other.steps.end(), step.step,
                                                [](const StepFile& each, std::int64_t wanted) { return each.step < wanted; });
            if (found != other.steps.end() && found->step == step.step) step.beside.push_back(found->path);
        }
        if (std::ssize(step.beside) + 1 == std::ssize(ranks)) common.push_back(std::move(step));
    }
    return common;
}

/// The processes at one step; empty unless all are in the same graph.
std::vector<Process> processes_at(std::int64_t step, std::span<const Recording> ranks) {
    std::vector<Process> processes;
    for (const Recording& rank : ranks) {
        const StepFile& own = step_file(rank, step);
        RecordedStep opened(own);
        if (opened.graph() >= rank.graphs.size()) return {};
        const RecordedGraph& graph = rank.graphs[opened.graph()];
        if (!processes.empty() && processes.front().step.graph() != opened.graph()) return {};
        processes.push_back({&graph, std::move(opened), parameters_as_of(rank, own)});
    }
    return processes;
}

/// By number of the graph; the graphs of `whole` become those of all heads. Null if the processes have no parts of one model. The newest
/// steps tell most: what begins as zeros is the same in all processes at first.
std::shared_ptr<const std::vector<Joints>> find_joints(std::span<const Recording> ranks, Recording& whole) {
    auto joints = std::make_shared<std::vector<Joints>>(whole.graphs.size());
    std::set<std::size_t> known;
    bool is_divided = false;
    whole.joints_are_sure = true;
    for (auto file = whole.steps.rbegin(); file != whole.steps.rend() && known.size() < whole.graphs.size(); ++file) {
        std::vector<Process> processes = processes_at(file->step, ranks);
        if (processes.empty()) return {};
        const std::size_t graph = processes.front().step.graph();
        if (!known.insert(graph).second) continue;
        Joining joining(std::move(processes));
        auto joined = joining.joined();
        if (!joined) return {};
        is_divided = is_divided || joining.is_divided();
        whole.joints_are_sure = whole.joints_are_sure && !joining.saw_zeros();
        whole.graphs[graph] = std::move(joined->first);
        (*joints)[graph] = std::move(joined->second);
    }
    return is_divided ? joints : nullptr;
}

/// Those that were found earlier of the same run, if it has no new graph and they will not change.
std::shared_ptr<const std::vector<Joints>> joints_of(const Recording* before, const Recording& now) {
    const bool is_same = before != nullptr && before->joints_are_sure && before->run == now.run && before->ranks == now.ranks &&
                         before->graphs.size() == now.graphs.size() && !before->steps.empty();
    return is_same ? before->steps.front().joints : nullptr;
}

}  // namespace

std::optional<Recording> join_ranks(std::span<const Recording> ranks, const Recording* before) {
    constexpr std::ptrdiff_t kMostRanks = 64;  // whose files are open at the same time
    if (std::ssize(ranks) > kMostRanks) return {};
    Recording whole = ranks.front();
    whole.rank.reset();
    whole.steps = common_steps(ranks);
    if (whole.steps.empty()) return {};
    std::shared_ptr<const std::vector<Joints>> joints = joints_of(before, whole);
    if (joints != nullptr) {
        whole.graphs = before->graphs;
        whole.joints_are_sure = true;
    } else joints = find_joints(ranks, whole);
    if (joints == nullptr) return {};
    for (StepFile& file : whole.steps) file.joints = joints;
    return whole;
}

}  // namespace attn::recording
