#pragma once
/// What the shown state is compared with, as the person chose it.

#include <cstdint>
#include <optional>
#include <string>

namespace attn::app {

/// The state that stands as A beside the shown one, B. A further one is a value here and a line in comparison.cpp.
enum class Compare : std::uint8_t {
    Off,
    Itself,    ///< another layer, head or text of the shown state
    Plain,     ///< without what was changed on purpose: the edits
    Unmasked,  ///< without masks and dropout, at temperature 1
    Correct,   ///< without the mistake that is made on purpose
    Moment,    ///< another step of the training run
    Pinned,    ///< kept by hand, in any view: A of a training run
    PinnedB,   ///< B of a training run
};

enum class CompareLayout : std::uint8_t {
    All,         ///< B − A = difference
    SideBySide,  ///< A | B
    Difference,  ///< B − A alone
    InPlace,     ///< B as if nothing were compared; A takes its place while the key is held
};

/// What is looked at while a comparison is on. When another takes its place the comparison is over: it was not meant.
struct ComparedSubject {
    std::string preset;           ///< the example
    const void* model = nullptr;  ///< the published model
    std::uint64_t run = 0;        ///< the training run; 0: none
    bool operator==(const ComparedSubject&) const = default;
};

struct Comparison {
    Compare source = Compare::Off;
    Compare last = Compare::Unmasked;                ///< what is compared with again after Off
    std::optional<std::int64_t> layer, head, batch;  ///< of A; none: those that are shown
    CompareLayout layout = CompareLayout::All;
    bool first = false;                      ///< in place: A stands there, and B while the key is held
    bool swapped = false;                    ///< A and B have changed places: by `first` or by the key
    std::optional<ComparedSubject> subject;  ///< what was looked at when it began; none: it has just begun

    bool on() const { return source != Compare::Off; }
    /// How both are shown. A alone is B's place taken by A.
    void lay_out(CompareLayout next, bool a_in_place = false) {
        layout = next;
        first = a_in_place && next == CompareLayout::InPlace;
    }
    void choose(Compare next) {
        source = next;
        subject.reset();
        if (on()) last = next;
    }
    void end() {
        choose(Compare::Off);
        layer.reset();
        head.reset();
        batch.reset();
        first = swapped = false;
    }
};

}  // namespace attn::app
