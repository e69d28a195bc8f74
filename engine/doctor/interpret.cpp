#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/doctor/doctor.hpp"
#include "engine/doctor/dump.hpp"
#include "engine/doctor/mask_tensor.hpp"
#include "engine/io/file_error.hpp"

namespace attn::doctor {
namespace {

using Shape = std::vector<std::int64_t>;

constexpr std::size_t index_of(Part part) { return static_cast<std::size_t>(part); }
/// Parts whose rows have v's size.
bool is_value_part(Part part) {
    return part == Part::V || part == Part::VRotated || part == Part::VProj || part == Part::Context || part == Part::Concat;
}

/// Determines the sizes of an attention and the axes of each tensor.
class Interpreter {
public:
    Interpreter(const ArrayFile& file, const Group& group, const Hints& hints, const Reading& reading)
        : file_(file), group_(group), hints_(hints), reading_(reading) {}

    Attention run() {
        out_.prefix = group_.prefix;
        choose_arrays();
        place_rotated();
        leave_out_means();
        move_packed_heads();
        if (maps_are_over_heads()) {
            out_.across_heads = true;
            return std::move(out_);
        }
        for (int i = 0; i < kPartCount; ++i)
            if (is_map(static_cast<Part>(i)) && has(static_cast<Part>(i)) && !mean_) expect_map(static_cast<Part>(i), false);
        read_sizes();
        read_sequences();
        return std::move(out_);
    }

private:
    bool has(Part part) const { return arrays_[index_of(part)] != nullptr; }
    const Shape& shape(Part part) const { return arrays_[index_of(part)]->shape; }
    bool is_exact(Part part) const { return exact_[index_of(part)]; }
    [[noreturn]] void fail(Part part, const std::string& problem) const {
        throw FileError(FileFault::Schema, file_.source, fmt::format("tensor \"{}\"", escaped(arrays_[index_of(part)]->name)), problem);
    }

    void take(Part part, const NamedPart& named) {
        arrays_[index_of(part)] = named.array;
        exact_[index_of(part)] = named.meaning.exact;
    }

    /// Chooses one tensor for every part: exact names before aliases, and aliases of a single stage before those used for several.
    void choose_arrays() {
        for (const NamedPart& named : group_.parts)
            if (named.meaning.normed) choose(named);
        for (const bool exact : {true, false})
            for (const bool several : {false, true})
                for (const NamedPart& named : group_.parts)
                    if (named.meaning.exact == exact && named.meaning.may_be_later == several && !named.meaning.normed) choose(named);
    }

    void choose(const NamedPart& named) {
        Part part = *named.meaning.part;
        if (named.meaning.may_be_later && part == Part::Scores) part = reading_.ambiguous_scores;
        const Part last = part == Part::Weights ? Part::Dropped : Part::Masked;
        while (named.meaning.may_be_later && has(part) && part < last)
            part = part == Part::Scaled ? Part::Masked : static_cast<Part>(index_of(part) + 1);
        if (has(part)) {
            out_.doubts.push_back(fmt::format("{} is not used: {} is taken as {}.", escaped(named.array->name),
                                              escaped(arrays_[index_of(part)]->name), part_name(part)));
            return;
        }
        const bool floating = named.array->dtype == DType::F16 || named.array->dtype == DType::BF16 || named.array->dtype == DType::F32 ||
                              named.array->dtype == DType::F64;
        take(part, named);
        if (!floating) fail(part, fmt::format("is {}; expected floating-point numbers", dtype_name(named.array->dtype)));
        for (const std::int64_t size : named.array->shape)
            if (size == 0) fail(part, "has shape " + shape_text(named.array->shape) + ": it is empty");
    }

    void move(Part from, Part to) {
        arrays_[index_of(to)] = arrays_[index_of(from)];
        exact_[index_of(to)] = exact_[index_of(from)];
        arrays_[index_of(from)] = nullptr;
    }

    /// A projection with a head axis is q before rotation, and q is then the rotated one. A rotated q by itself is simply q.
    void place_rotated() {
        constexpr Part kEach[3][3] = {
            {Part::QProj, Part::Q, Part::QRotated}, {Part::KProj, Part::K, Part::KRotated}, {Part::VProj, Part::V, Part::VRotated}};
        for (const auto& [projection, plain, rotated] : kEach) {
            if (has(projection) && shape(projection).size() == 4) {
                if (has(plain) && !has(rotated)) move(plain, rotated);
                if (!has(plain)) move(projection, plain);
            }
            if (has(rotated) && !has(plain) && !has(projection)) move(rotated, plain);
        }
    }

    /// Where a tensor's axes may be, and how long they are; 0 if it has none.
    struct Placed {
        std::int64_t batches = 0, heads = 0, positions = 0;
    };

    /// With heads before positions or after them, if it has both.
    std::optional<Placed> placed(Part part, bool positions_first) const {
        if (!has(part)) return std::nullopt;
        const Shape& size = shape(part);
        if (size.size() == 4) return Placed{size[0], size[positions_first ? 2 : 1], size[positions_first ? 1 : 2]};
        if (size.size() == 3 && is_packed(part)) return Placed{size[0], 0, size[1]};
        if (size.size() == 2 || size.size() == 3) return Placed{0, 0, size[size.size() - 2]};
        return std::nullopt;
    }

    /// The sizes that the other tensors give to maps; nullopt if they contradict one another.
    std::optional<std::array<std::int64_t, 4>> map_sizes(bool positions_first) const {
        std::array<std::int64_t, 4> out{};
        const auto agree = [](std::int64_t& known, std::int64_t size) {
            if (known == 0) known = size;
            return size == 0 || known == size;
        };
        for (const Part part : {Part::Q, Part::QRotated, Part::QProj, Part::Context, Part::Concat, Part::K, Part::KRotated, Part::KProj,
                                Part::V, Part::VRotated, Part::VProj}) {
            const std::optional<Placed> seen = placed(part, positions_first);
            if (!seen) continue;
            const bool shared = is_shared(part);
            if (!shared && seen->heads > 0 && hints_.num_heads && seen->heads != *hints_.num_heads) return std::nullopt;
            const bool fits = agree(out[0], seen->batches) && agree(out[shared ? 3 : 2], seen->positions) &&
                              (shared ? seen->heads == 0 || out[1] == 0 || out[1] % seen->heads == 0 : agree(out[1], seen->heads));
            if (!fits) return std::nullopt;
        }
        return out;
    }

    /// Whether a map of this shape is one of all heads, [B,H,T,S], or their mean, [B,T,S].
    static bool is_map_of(const Shape& size, const std::array<std::int64_t, 4>& expected, bool mean) {
        Shape whole(expected.begin(), expected.end());
        if (mean) whole.erase(whole.begin() + 1);
        const std::size_t missing = whole.size() - std::min(whole.size(), size.size());
        for (std::size_t i = 0; i < missing; ++i)
            if (whole[i] > 1) return false;
        for (std::size_t i = 0; i < size.size(); ++i)
            if (whole[missing + i] != 0 && whole[missing + i] != size[i]) return false;
        return size.size() <= whole.size();
    }

    /// Throws if the part's shape cannot be what the other tensors make it, in either order of heads and positions.
    void expect_map(Part part, bool mean) const {
        std::optional<std::array<std::int64_t, 4>> expected;
        for (const bool positions_first : {false, true}) {
            const auto sizes = map_sizes(positions_first);
            if (sizes && is_map_of(shape(part), *sizes, mean)) return;
            if (sizes && !expected) expected = sizes;
        }
        if (!expected) return;  // the others disagree among themselves, which is said of them
        Shape turned = shape(part);
        if (turned.size() >= 2) std::swap(turned[turned.size() - 1], turned[turned.size() - 2]);
        const auto& [b, h, t, s] = *expected;
        const std::string heads = mean ? "" : named("H", h) + ", ";
        fail(part, fmt::format("has shape {}; expected [{}, {}{}, {}], as {} give it{}", shape_text(shape(part)), named("B", b), heads,
                               named("T", t), named("S", s), others(),
                               is_map_of(turned, *expected, mean) ? ": it may be transposed, for its rows are queries" : ""));
    }

    /// "q [1, 2, 3, 4] and k [1, 2, 5, 4]".
    std::string others() const {
        std::vector<std::string> out;
        for (const auto& each : {std::array{Part::Q, Part::QRotated, Part::QProj, Part::Context, Part::Concat},
                                 std::array{Part::K, Part::KRotated, Part::KProj, Part::V, Part::VProj}})
            for (const Part part : each)
                if (placed(part, false)) {
                    out.push_back(fmt::format("{} {}", escaped(arrays_[index_of(part)]->name), shape_text(shape(part))));
                    break;
                }
        return fmt::format("{}", fmt::join(out, " and "));
    }

    bool any_but_maps() const {
        for (int i = 0; i < kPartCount; ++i)
            if (has(static_cast<Part>(i)) && !is_map(static_cast<Part>(i))) return true;
        return false;
    }

    /// By default PyTorch's nn.MultiheadAttention returns the mean of its heads' weights, [B,T,S]; these are left out.
    void leave_out_means() {
        const NamedArray* heads = nullptr;
        for (const Part part : {Part::Q, Part::K, Part::V, Part::Context})
            if (has(part) && shape(part).size() == 4 && heads == nullptr) heads = arrays_[index_of(part)];
        for (const Part part : {Part::Weights, Part::Dropped}) {
            if (!has(part) || shape(part).size() > 3) continue;
            const Shape& size = shape(part);
            const bool is_mean = size.size() == 3 || (size.size() == 2 && heads != nullptr && heads->shape[0] == 1);
            const bool beside_heads =
                is_mean && heads != nullptr && heads->shape[1] != 1 && (size.size() == 2 || size[0] == heads->shape[0]);
            const bool too_few = hints_.num_heads.value_or(1) > 1 && (size.size() < 3 || size[0] != hints_.num_heads);
            const std::string name = escaped(arrays_[index_of(part)]->name);
            if (beside_heads || (too_few && any_but_maps())) {
                expect_map(part, true);
                out_.doubts.push_back(fmt::format(
                    "{} is not used: it has no axis of heads and may be their mean (average_attn_weights = False gives them all).", name));
                arrays_[index_of(part)] = nullptr;
            } else if (too_few) {
                mean_ = true;
                out_.doubts.push_back(fmt::format(
                    "{} has shape {} and no axis for the {} heads: it is taken as their mean, of which only the row sums can be judged.",
                    name, shape_text(size), *hints_.num_heads));
            } else if (!any_but_maps() && size.size() == 3 && !hints_.num_heads) {
                out_.doubts.push_back(fmt::format("{} has shape {}: the first axis is taken as heads. If this is the mean over heads, or "
                                                  "the axis counts sequences, give num_heads; the shape [B, H, T, S] leaves no doubt.",
                                                  name, shape_text(size)));
            }
        }
    }

    /// q, k, v and context have the same names before the split into heads and after the join; the number of axes decides.
    void move_packed_heads() {
        bool four_axes = false;
        for (int i = 0; i < kPartCount; ++i) {
            const Part part = static_cast<Part>(i);
            if (has(part) && !is_packed(part) && shape(part).size() == 4) four_axes = true;
        }
        const std::int64_t heads = hints_.num_heads.value_or(1);
        for (const Part part : {Part::Q, Part::K, Part::V, Part::Context}) {
            if (!has(part) || shape(part).size() != 3) continue;
            const bool could_split =
                heads > 1 && shape(part)[0] != heads && shape(part)[2] % heads == 0 && !three_axis_maps_of_heads(heads);
            if (!four_axes && !could_split) continue;
            const Part packed = part == Part::Q   ? Part::QProj
                                : part == Part::K ? Part::KProj
                                : part == Part::V ? Part::VProj
                                                  : Part::Concat;
            if (has(packed)) {
                out_.doubts.push_back(fmt::format("{} is not used: it has no axis of heads.", escaped(arrays_[index_of(part)]->name)));
            } else {
                move(part, packed);
                // "attn_output" may also be after W_O, and "query" before the projection.
                if (packed == Part::Concat && !is_exact(packed)) out_.concat_may_be_projected = true;
                if (packed != Part::Concat && !is_exact(packed)) out_.inputs_may_be_unprojected = true;
            }
            arrays_[index_of(part)] = nullptr;
        }
    }
    bool three_axis_maps_of_heads(std::int64_t heads) const {
        for (int i = 0; i < kPartCount; ++i)
            if (is_map(static_cast<Part>(i)) && has(static_cast<Part>(i)))
                return shape(static_cast<Part>(i)).size() == 3 && shape(static_cast<Part>(i))[0] == heads;
        return false;
    }

    const Shape* any_map() const {
        for (int i = 0; i < kPartCount; ++i)
            if (is_map(static_cast<Part>(i)) && has(static_cast<Part>(i))) return &shape(static_cast<Part>(i));
        return nullptr;
    }

    /// [B,T,H,D] without the transpose gives maps [B,T,H,H].
    bool maps_are_over_heads() {
        const Shape* map = any_map();
        if (map == nullptr || map->size() != 4 || (*map)[2] != (*map)[3] || (*map)[1] == (*map)[2]) return false;
        std::int64_t heads = hints_.num_heads.value_or(0), positions = 0;
        if (has(Part::QProj) && shape(Part::QProj).size() == 3) {
            positions = shape(Part::QProj)[1];
            if (heads == 0 && has(Part::Q) && shape(Part::Q).size() == 4 && shape(Part::QProj)[2] % shape(Part::Q)[3] == 0)
                heads = shape(Part::QProj)[2] / shape(Part::Q)[3];
        }
        if (heads == 0 || heads != (*map)[2]) return false;
        return positions == 0 ? (*map)[1] != heads : (*map)[1] == positions;
    }

    /// Records a size, or throws if it contradicts a known one.
    void set(std::int64_t& known, std::int64_t size, Part part, const std::string& expected) {
        if (known == 0) known = size;
        else if (known != size) misfit(part, expected);
    }
    [[noreturn]] void misfit(Part part, const std::string& expected) const {
        fail(part, fmt::format("has shape {}; expected {}", shape_text(shape(part)), expected));
    }
    static std::string named(const char* letter, std::int64_t size) {
        return size == 0 ? std::string(letter) : fmt::format("{}={}", letter, size);
    }

    /// Letters of the axes, by their number; B and H share a position in files that have only one of them.
    std::string letters(Part part) const {
        const std::size_t rank = shape(part).size();
        const char* last = is_map(part) ? "S" : is_packed(part) ? "C" : "D";
        if (is_packed(part)) {
            if (rank == 2 || rank == 3) return (rank == 3 ? "BP" : "P") + std::string(last);
        } else if (rank >= 2 && rank <= 4) {
            return (rank == 4 ? "BHP" : rank == 3 ? std::string(1, lead_) + "P" : "P") + last;
        }
        fail(part, fmt::format("has shape {}; expected {}", shape_text(shape(part)),
                               is_packed(part) ? "[B,T,C]"
                               : is_map(part)  ? "[B,H,T,S]"
                                               : "[B,H,T,D]"));
    }

    std::string expected(Part part) const {
        const std::string b = named("B", batches_), h = named("H", heads_), t = named("T", queries_), s = named("S", keys_);
        const std::string p = is_shared(part) ? s : t;
        if (is_map(part)) return fmt::format("[{}, {}, {}, {}]", b, h, t, s);
        if (is_packed(part)) return fmt::format("[{}, {}, {}]", b, p, "C");
        return fmt::format("[{}, {}, {}, {}]", b, h, p, named("D", is_value_part(part) ? value_size_ : head_size_));
    }

    void read_sizes() {
        // A single leading axis means heads, unless something indicates sequences.
        for (const Part part : {Part::QProj, Part::KProj, Part::VProj, Part::Concat})
            if (has(part) && shape(part).size() == 3) lead_ = 'B';
        if (hints_.num_heads == 1 || mean_) lead_ = 'B';
        if (hints_.head_size) head_size_hint_ = *hints_.head_size;
        for (int i = 0; i < kPartCount; ++i)
            if (is_map(static_cast<Part>(i)) && has(static_cast<Part>(i))) read_map_sizes(static_cast<Part>(i));
        if (heads_ == 0 && hints_.num_heads && (lead_ == 'H' || any_rank_four() || has(Part::QProj))) heads_ = *hints_.num_heads;
        for (const Part part : {Part::QProj, Part::KProj, Part::VProj, Part::Concat})
            if (has(part)) read_packed_positions(part);
        for (const Part part : {Part::Q, Part::QRotated, Part::Context, Part::K, Part::KRotated, Part::V, Part::VRotated})
            if (has(part)) read_head_sizes(part);
        if (heads_ == 0) heads_ = lead_ == 'B' ? hints_.num_heads.value_or(1) : 1;
        if (batches_ == 0) batches_ = 1;
        for (const Part part : {Part::QProj, Part::Concat})
            if (has(part)) read_packed_width(part);
        for (const Part part : {Part::KProj, Part::VProj})
            if (has(part)) read_shared_width(part);
        check_stated_sizes();
        if (queries_ == 0) queries_ = keys_;
        if (keys_ == 0) keys_ = queries_;
    }
    /// Throws if the file's stated sizes contradict its tensors.
    void check_stated_sizes() const {
        for (int i = 0; i < kPartCount; ++i) {
            const Part part = static_cast<Part>(i);
            if (!has(part)) continue;
            const Layout& where = out_.layouts[index_of(part)];
            const std::int64_t stored = where.axes.find('H') == std::string::npos ? heads_ : shape(part)[where.axes.find('H')];
            const auto contradicts = [&](const char* name, std::int64_t stated, const std::string& seen) {
                fail(part,
                     fmt::format("has shape {}, which is {}, but the metadata say {} = {}", shape_text(shape(part)), seen, name, stated));
            };
            if (hints_.num_heads && *hints_.num_heads != heads_ && !is_shared(part) && !mean_)
                contradicts("num_heads", *hints_.num_heads, fmt::format("{} head{}", heads_, heads_ == 1 ? "" : "s"));
            if (hints_.num_key_heads && is_shared(part) && stored != heads_ && stored != *hints_.num_key_heads)
                contradicts("num_kv_heads", *hints_.num_key_heads, fmt::format("{} head{}", stored, stored == 1 ? "" : "s"));
            if (hints_.head_size && head_size_ > 0 && *hints_.head_size != head_size_ && !is_map(part) && !is_value_part(part))
                contradicts("head_dim", *hints_.head_size, fmt::format("{} dimension{} per head", head_size_, head_size_ == 1 ? "" : "s"));
        }
    }

    bool any_rank_four() const {
        for (const auto* array : arrays_)
            if (array != nullptr && array->shape.size() == 4) return true;
        return false;
    }

    Layout& layout(Part part) { return out_.layouts[index_of(part)]; }
    std::int64_t size_on(Part part, char axis) {
        const std::size_t at = layout(part).axes.find(axis);
        return at == std::string::npos ? 1 : shape(part)[at];
    }

    void read_map_sizes(Part part) {
        layout(part).axes = letters(part);
        set(batches_, size_on(part, 'B'), part, expected(part));
        set(heads_, size_on(part, 'H'), part, expected(part));
        set(queries_, size_on(part, 'P'), part, expected(part));
        set(keys_, size_on(part, 'S'), part, expected(part));
    }

    void read_packed_positions(Part part) {
        layout(part).axes = letters(part);
        set(batches_, size_on(part, 'B'), part, expected(part));
        set(is_shared(part) ? keys_ : queries_, size_on(part, 'P'), part, expected(part));
    }

    void read_packed_width(Part part) {
        std::int64_t& size = is_value_part(part) ? value_size_ : head_size_;
        const std::int64_t width = size_on(part, 'C');
        if (width % heads_ != 0) misfit(part, fmt::format("a width divisible by {} heads", heads_));
        set(size, width / heads_, part, fmt::format("[{}, {}, C={}]", named("B", batches_), is_shared(part) ? "S" : "T", heads_ * size));
    }

    /// With GQA, the projections of keys and values are narrower than that of q.
    void read_shared_width(Part part) {
        std::int64_t& size = is_value_part(part) ? value_size_ : head_size_;
        const std::int64_t width = size_on(part, 'C');
        // Without other information, values have the same head size and number of heads as keys.
        std::int64_t stored = heads_;
        if (size > 0) stored = width / size;
        else if (hints_.num_key_heads) stored = *hints_.num_key_heads;
        else if (hints_.head_size && width % *hints_.head_size == 0) stored = width / *hints_.head_size;
        else if (part == Part::VProj && key_heads() > 0) stored = key_heads();
        if (stored < 1 || stored > heads_ || heads_ % stored != 0 || width % stored != 0 || (size > 0 && stored * size != width)) {
            if (size > 0)
                misfit(part, fmt::format("[{}, {}, C={}] or fewer heads of {} columns", named("B", batches_), named("S", keys_),
                                         heads_ * size, size));
            misfit(part, fmt::format("a width divisible by {} heads", heads_));
        }
        if (size == 0) size = width / stored;
        layout(part).heads_per_stored_head = heads_ / stored;
    }
    /// Number of key heads if known; else 0.
    std::int64_t key_heads() const {
        for (const Part part : {Part::KProj, Part::K})
            if (has(part)) return heads_ / out_.layouts[index_of(part)].heads_per_stored_head;
        return 0;
    }

    /// Whether the tensor fits with heads and positions on these axes.
    bool fits(Part part, std::size_t head_axis, std::size_t position_axis) const {
        const std::int64_t positions = is_shared(part) ? keys_ : queries_, stored = shape(part)[head_axis];
        const bool shared = is_shared(part) && heads_ % stored == 0;  // grouped-query attention
        return (heads_ == 0 || stored == heads_ || shared) && (positions == 0 || shape(part)[position_axis] == positions);
    }

    void read_head_sizes(Part part) {
        Layout& where = layout(part);
        where.axes = letters(part);
        if (where.axes == "BHPD") {
            const bool literal = fits(part, 1, 2), other = fits(part, 2, 1);
            if (other && (!literal || reading_.positions_first || positions_first_)) where.axes = "BPHD";
            // Keys that would also fit with fewer, shared heads have the queries' layout.
            positions_first_ = positions_first_ || (where.axes == "BPHD" && !literal);
        }
        set(batches_, size_on(part, 'B'), part, expected(part));
        const std::int64_t stored = size_on(part, 'H');
        if (heads_ == 0) heads_ = stored;
        if (heads_ % stored != 0 || (stored != heads_ && !is_shared(part))) misfit(part, expected(part));
        where.heads_per_stored_head = heads_ / stored;
        set(is_shared(part) ? keys_ : queries_, size_on(part, 'P'), part, expected(part));
        set(is_value_part(part) ? value_size_ : head_size_, size_on(part, 'D'), part, expected(part));
    }

    void read_sequences() {
        // Judging a sequence holds about ten maps of doubles; every other sequence needs a byte per cell.
        constexpr double kMaxCellsInAll = 0x1p28;
        const double cells = static_cast<double>(heads_) * static_cast<double>(queries_) * static_cast<double>(keys_);
        if (cells > kMostJudgedCells || static_cast<double>(batches_) * cells > kMaxCellsInAll)
            throw FileError(
                FileFault::Limit, file_.source, "",
                fmt::format("its attention maps [{}, {}, {}, {}] are larger than the doctor can judge", batches_, heads_, queries_, keys_));
        Sequence base;
        base.heads = heads_;
        base.queries = queries_;
        base.keys = keys_;
        base.head_size = head_size_ > 0 ? head_size_ : head_size_hint_;
        base.value_size = value_size_;
        base.temperature = hints_.temperature;
        base.scale = hints_.scale;
        base.softcap = hints_.softcap;
        base.sinks = sinks();
        base.rotary_base = hints_.rotary_base;
        base.rotary_width = rotary_width(base.head_size);
        base.rotary_halves = hints_.rotary_halves;
        for (int i = 0; i < kPartCount; ++i)
            if (has(static_cast<Part>(i)) && is_shared(static_cast<Part>(i)))
                base.stored_heads[static_cast<std::size_t>(i)] = heads_ / out_.layouts[static_cast<std::size_t>(i)].heads_per_stored_head;
        if (head_size_ > 0) base.widths.push_back(static_cast<double>(heads_ * head_size_));
        if (hints_.d_model) base.widths.push_back(static_cast<double>(*hints_.d_model));
        if (value_size_ > 0) base.usual_head_size = value_size_;
        else if (hints_.d_model && *hints_.d_model % heads_ == 0) base.usual_head_size = *hints_.d_model / heads_;
        if (base.widths.empty() && base.usual_head_size > 0) base.widths.push_back(static_cast<double>(heads_ * base.usual_head_size));
        out_.sequences.assign(static_cast<std::size_t>(batches_), base);
        for (int i = 0; i < kPartCount; ++i)
            if (has(static_cast<Part>(i))) read_values(static_cast<Part>(i));
        std::vector<Intent> intents = read_masks(file_, group_.masks, {batches_, heads_, queries_, keys_}, reading_);
        for (const NamedPart& mask : group_.masks)
            if (may_be_added(file_, mask))
                out_.doubts.push_back(fmt::format("{} holds floating-point ones and zeros, which {}.", escaped(mask.array->name),
                                                  reading_.add_floats
                                                      ? "are added to the scores, as PyTorch does: to hide keys it has to be boolean"
                                                      : "are taken for true and false; PyTorch would add them"));
        for (std::size_t b = 0; b < intents.size(); ++b) {
            intents[b].causal = hints_.causal;
            intents[b].complete = group_.complete_mask;
            intents[b].has_unrecorded_bias = hints_.has_bias;
            out_.sequences[b].intent = std::move(intents[b]);
        }
    }

    std::vector<double> sinks() const {
        if (group_.sinks == nullptr) return {};
        if (group_.sinks->count() != heads_)
            throw FileError(FileFault::Schema, file_.source, fmt::format("tensor \"{}\"", escaped(group_.sinks->name)),
                            fmt::format("has shape {}; expected one number for each of {} heads", shape_text(group_.sinks->shape), heads_));
        return values_as<double>(*group_.sinks, file_.source);
    }

    /// How many of `size` dimensions the file says are rotated. Throws if that is impossible.
    std::optional<std::int64_t> rotary_width(std::int64_t size) const {
        const auto refuse = [&](const std::string& stated, const char* problem) {
            return FileError(FileFault::Schema, file_.source, "metadata",
                             fmt::format("{} of heads with {} dimensions {}", stated, size, problem));
        };
        if (size == 0) return std::nullopt;
        if (hints_.rotary_width) {
            if (*hints_.rotary_width > size) throw refuse(fmt::format("rotary_dim {}", *hints_.rotary_width), "is too large");
            return hints_.rotary_width;
        }
        if (!hints_.rotary_part) return std::nullopt;
        // Programs round down; a factor stored with 32 bits may be slightly too small.
        const auto width = static_cast<std::int64_t>(static_cast<double>(size) * *hints_.rotary_part + 1e-4);
        if (width < 2 || width % 2 != 0)
            throw refuse(fmt::format("partial_rotary_factor {:.6g}", *hints_.rotary_part), "is not an even number of dimensions");
        return width;
    }

    /// Converts a tensor to the standard layout, sequence by sequence.
    void read_values(Part part) {
        const std::vector<double> numbers = values_as<double>(*arrays_[index_of(part)], file_.source);
        const Layout& where = layout(part);
        out_.layouts[index_of(part)].tensor = arrays_[index_of(part)]->name;
        const std::int64_t stride_b = stride(part, 'B'), stride_h = stride(part, 'H'), stride_p = stride(part, 'P');
        const double unit = rounding_unit(numbers, arrays_[index_of(part)]->dtype);
        for (std::int64_t b = 0; b < batches_; ++b) {
            Sequence& sequence = out_.sequences[static_cast<std::size_t>(b)];
            const std::vector<std::int64_t> sizes = sequence.sizes(part);
            const std::int64_t heads = sizes.size() == 3 ? sizes[0] : 1, positions = sizes[sizes.size() - 2], last = sizes.back();
            std::vector<double>& out = sequence.values[index_of(part)];
            out.reserve(static_cast<std::size_t>(heads * positions * last));
            for (std::int64_t h = 0; h < heads; ++h)
                for (std::int64_t p = 0; p < positions; ++p)
                    for (std::int64_t i = 0; i < last; ++i)
                        out.push_back(numbers[static_cast<std::size_t>(b * stride_b + h / where.heads_per_stored_head * stride_h +
                                                                       p * stride_p + i)]);
            sequence.unit = std::max(sequence.unit, unit);
        }
    }
    /// 0 for an axis the tensor does not have.
    std::int64_t stride(Part part, char axis) const {
        const std::size_t at = out_.layouts[index_of(part)].axes.find(axis);
        if (at == std::string::npos) return 0;
        std::int64_t stride = 1;
        for (std::size_t i = at + 1; i < shape(part).size(); ++i) stride *= shape(part)[i];
        return stride;
    }

    /// Half a unit in the last place at 1, for the coarsest format that represents every number: a float32 file may contain numbers
    /// computed in bfloat16. A few numbers, or integers, do not tell how they were computed.
    static double rounding_unit(const std::vector<double>& numbers, DType dtype) {
        const double stored = dtype == DType::F64 ? 0x1p-53 : dtype == DType::F32 ? 0x1p-24 : dtype == DType::F16 ? 0x1p-11 : 0x1p-8;
        std::int64_t telling = 0;
        int bits = 0;
        for (const double x : numbers) {
            if (!std::isfinite(x) || x == std::floor(x)) continue;
            const auto fraction = std::bit_cast<std::uint64_t>(x) & 0xF'FFFF'FFFF'FFFFULL;
            if (fraction == 0) continue;  // power of two
            ++telling;
            bits = std::max(bits, 53 - std::countr_zero(fraction));
        }
        if (telling < 8) return stored;
        const double seen = bits <= 8 ? 0x1p-8 : bits <= 11 ? 0x1p-11 : bits <= 24 ? 0x1p-24 : 0x1p-53;
        return std::max(stored, seen);
    }

    const ArrayFile& file_;
    const Group& group_;
    const Hints& hints_;
    const Reading& reading_;
    Attention out_;
    std::array<const NamedArray*, kPartCount> arrays_{};
    std::array<bool, kPartCount> exact_{};
    char lead_ = 'H';
    bool positions_first_ = false;
    bool mean_ = false;  ///< the weights are a mean over heads
    std::int64_t batches_ = 0, heads_ = 0, queries_ = 0, keys_ = 0, head_size_ = 0, value_size_ = 0, head_size_hint_ = 0;
};

}  // namespace

Attention interpret(const ArrayFile& file, const Group& group, const Hints& hints, const Reading& reading) {
    return Interpreter(file, group, hints, reading).run();
}

std::vector<Reading> readings(const ArrayFile& file, const Group& group) {
    const auto any = [&](const auto& is) { return std::any_of(group.parts.begin(), group.parts.end(), is); };
    const auto has = [&](Part part) { return any([&](const NamedPart& p) { return p.meaning.part == part; }); };
    const bool flip_mask = std::any_of(group.masks.begin(), group.masks.end(),
                                       [](const NamedPart& part) { return part.meaning.mask == MaskMeaning::Ambiguous; });
    const bool map = any([](const NamedPart& p) { return is_map(*p.meaning.part); });
    const bool square = any([](const NamedPart& p) {
        const std::vector<std::int64_t>& shape = p.array->shape;
        return !is_map(*p.meaning.part) && shape.size() == 4 && shape[1] == shape[2];
    });
    // A name used for several stages does not mean a stage that has a tensor of its own; nor masked, if scaled exists and the tensor
    // contains no mask.
    std::vector<Part> scores{Part::Scores};
    if (any([](const NamedPart& p) { return p.meaning.part == Part::Scores && p.meaning.may_be_later; })) {
        const bool masked = any([](const NamedPart& p) { return p.holds_mask; });
        if (!has(Part::Scaled)) scores.push_back(Part::Scaled);
        if (!has(Part::Masked) && (masked || !has(Part::Scaled))) scores.push_back(Part::Masked);
        if (!has(Part::Weights)) scores.push_back(Part::Weights);
    }
    const bool add_floats =
        std::any_of(group.masks.begin(), group.masks.end(), [&](const NamedPart& mask) { return may_be_added(file, mask); });
    std::vector<Reading> out;
    for (const bool positions_first : {false, true})
        for (const bool flip : {false, true})
            for (const Part part : scores)
                if ((!positions_first || (map && square)) && (!flip || flip_mask)) out.push_back({part, flip, positions_first});
    for (std::size_t i = 0, count = out.size(); i < count && add_floats; ++i)
        if (!out[i].flip_mask) out.push_back({out[i].ambiguous_scores, false, out[i].positions_first, true});
    return out;
}

}  // namespace attn::doctor
