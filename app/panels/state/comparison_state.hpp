#pragma once
/// The user's choice of what to compare with.

#include <cstdint>
#include <optional>
#include <string>

#include "app/session/document/look.hpp"

namespace attn::app {

/// What was shown when a comparison began. The comparison ends when this changes.
struct ComparedSubject {
    std::string preset;           ///< name of the example
    const void* model = nullptr;  ///< identity of the published model
    std::uint64_t run = 0;        ///< number of the training run; 0: none
    bool operator==(const ComparedSubject&) const = default;
};

struct Comparison {
    Compare source = Compare::Off;
    Compare last = Compare::Unmasked;                ///< restored when comparing is switched on again
    std::optional<std::int64_t> layer, head, batch;  ///< of A; none: the same as shown
    CompareLayout layout = CompareLayout::All;
    bool first = false;                      ///< in place: A is shown, and B while the key is held
    bool swapped = false;                    ///< A and B are swapped, by `first` or by the key
    std::optional<ComparedSubject> subject;  ///< set when the comparison begins; none: it has just begun

    /// A comparison that ended because undo took away the pinned state. It begins again once that is back.
    struct Interrupted {
        Compare source;
        ComparedSubject subject;
    };
    std::optional<Interrupted> interrupted;

    bool on() const { return source != Compare::Off; }
    /// Sets the layout. `a_in_place`: show A instead of B.
    void lay_out(CompareLayout next, bool a_in_place = false) {
        layout = next;
        first = a_in_place && next == CompareLayout::InPlace;
    }
    void choose(Compare next) {
        source = next;
        subject.reset();
        interrupted.reset();
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
