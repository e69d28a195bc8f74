#pragma once
/// Facets: everything that can be computed from a state. Views request the facets they show; nothing else is computed.
///
/// A facet is a struct in this folder that says what is asked for and what comes back, and its make() in app/session/facets, which says
/// what it is computed from and how. No list names all facets.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "app/session/states/state.hpp"
#include "engine/plan/stage.hpp"

namespace attn::app {

class Ask;    // app/session/facets/ask.hpp
struct Work;  // app/session/facets/work.hpp

/// Which worker computes a facet. Two lanes, so that quick facets never queue behind slow ones.
enum class Lane : std::uint8_t { Prompt, Patient };
inline constexpr int kLanes = 2;

/// Static properties of a facet type.
struct FacetInfo {
    Lane lane = Lane::Patient;
    std::string_view failed{};  ///< prefix of error messages
    /// While a training run is followed, a patient facet is recomputed at most once per `pause`, and only after `share` times as long as
    /// the last computation took.
    std::chrono::milliseconds pause{1000};
    int share = 20;
    bool runs_model = false;  ///< needs parameters, which a recording does not have
    bool gives_way = false;   ///< yields to every other facet of its lane
    /// A state is shown once all its requested prompt facets are ready, except those that come by themselves. A request may also decide by
    /// a function comes_by_itself().
    bool comes_by_itself = false;
    bool leaves_no_hole = false;  ///< the picture of a pass that has only begun may lack it
    bool is_idle_kept = true;     ///< its value may be kept for a while when nobody asks for it any more
};

/// A value and the memory it takes.
struct FacetValue {
    std::shared_ptr<const void> value;
    double mib = 0;
};

/// The same of a known type; what a job returns.
template <class Value>
struct Made : FacetValue {
    Made(Value made, double takes_mib = 0) : FacetValue{std::make_shared<const Value>(std::move(made)), takes_mib} {}
    Made(std::shared_ptr<const Value> made, double takes_mib = 0) : FacetValue{std::move(made), takes_mib} {}
};

/// The computation of a facet. Throws DocumentError and Error with the reason if the facet does not exist, Cancelled once a stop is
/// requested.
template <class Value>
using Job = std::function<Made<Value>(Work&)>;
using AnyJob = std::function<FacetValue(Work&)>;

/// What is asked for of a state. Holds any struct F like this:
///
///     struct F {
///         using Value = ...;
///         static constexpr FacetInfo kInfo{...};
///         ...                                         // members that say what exactly
///         static Job<Value> make(const F&, Ask& ask);  // asks for everything that it needs, computes nothing, and returns the job
///         bool operator==(const F&) const = default;
///     };
///
/// One whose members name another state also has `F moved(from, to) const`, which replaces that one.
class Facet {
public:
    Facet() = default;
    template <class F>
    requires requires {
        typename F::Value;
        F::kInfo;
    }
    Facet(F facet) : held_(std::make_shared<const Of<F>>(std::move(facet))) {}

    const FacetInfo& info() const { return held_->info; }
    /// Null if it is a facet of another type.
    template <class F>
    const F* as() const {
        return held_ != nullptr && &held_->info == &F::kInfo ? &static_cast<const Of<F>&>(*held_).facet : nullptr;
    }
    AnyJob make(Ask& ask) const { return held_->make(ask); }
    /// See FacetInfo::comes_by_itself.
    bool comes_by_itself() const { return held_->comes_by_itself(); }
    /// The same for another state: one that is compared with itself is then replaced on both sides.
    Facet moved(const StateRef& from, const StateRef& to) const {
        std::shared_ptr<const Held> moved = held_->moved(from, to);
        return moved == nullptr ? *this : Facet(std::move(moved));
    }

    std::size_t hash() const { return held_ == nullptr ? 0 : held_->hash; }
    bool operator==(const Facet& other) const {
        if (held_ == other.held_) return true;
        return held_ != nullptr && other.held_ != nullptr && held_->hash == other.held_->hash && &held_->info == &other.held_->info &&
               held_->equals(*other.held_);
    }

private:
    struct Held {
        const FacetInfo& info;  ///< every type has its own, so that its address tells the types apart
        const std::size_t hash;
        Held(const FacetInfo& info_of_type, std::size_t hash_of_facet) : info(info_of_type), hash(hash_of_facet) {}
        virtual ~Held() = default;
        virtual bool equals(const Held& same_type) const = 0;
        virtual AnyJob make(Ask& ask) const = 0;
        virtual bool comes_by_itself() const = 0;
        virtual std::shared_ptr<const Held> moved(const StateRef& from, const StateRef& to) const = 0;  ///< null: it names no other state
    };
    template <class F>
    struct Of;
    explicit Facet(std::shared_ptr<const Held> held) : held_(std::move(held)) {}

    std::shared_ptr<const Held> held_;
};

/// Mixes values into one number.
struct HashMixer {
    std::size_t mixed = 0;

    template <class T>
    void add(const T& value) {
        if constexpr (std::is_enum_v<T>) add_hash(static_cast<std::size_t>(value));
        else add_hash(std::hash<T>{}(value));
    }
    void add(const StageId& id) { add(id.stage), add(id.layer), add(id.stack), add(id.attention), add(id.nth); }
    template <class T>
    void add(const std::optional<T>& value) {
        if (value) add(*value);
        else add_hash(1);
    }
    void add_hash(std::size_t hash) { mixed ^= hash + 0x9E3779B97F4A7C15U + (mixed << 6) + (mixed >> 2); }
    /// What tells the requests of one frame apart: stage, head, place.
    template <class F>
    static std::size_t of(const F& facet) {
        HashMixer mixer;
        mixer.add(&F::kInfo);
        if constexpr (requires { facet.stage; }) mixer.add(facet.stage);
        if constexpr (requires { facet.first; }) mixer.add(facet.first);
        if constexpr (requires { facet.weights; }) mixer.add(facet.weights);
        if constexpr (requires { facet.cell; }) mixer.add(facet.cell.stage);
        if constexpr (requires { facet.head; }) mixer.add(facet.head);
        if constexpr (requires { facet.region; }) mixer.add(facet.region.first_row), mixer.add(facet.region.first_col);
        if constexpr (requires { facet.at; }) mixer.add(facet.at.layer), mixer.add(facet.at.sequence);
        if constexpr (requires { facet.sequence; }) mixer.add(facet.sequence);
        if constexpr (requires { facet.position; }) mixer.add(facet.position);
        if constexpr (requires { facet.parameter; }) mixer.add(facet.parameter);
        return mixer.mixed;
    }
};

template <class F>
struct Facet::Of final : Held {
    const F facet;
    explicit Of(F held) : Held(F::kInfo, HashMixer::of(held)), facet(std::move(held)) {}
    bool equals(const Held& same_type) const override { return facet == static_cast<const Of&>(same_type).facet; }
    AnyJob make(Ask& ask) const override { return F::make(facet, ask); }
    bool comes_by_itself() const override {
        if constexpr (requires { facet.comes_by_itself(); }) return facet.comes_by_itself();
        else return F::kInfo.comes_by_itself;
    }
    std::shared_ptr<const Held> moved(const StateRef& from, const StateRef& to) const override {
        if constexpr (requires { facet.moved(from, to); }) return std::make_shared<const Of>(facet.moved(from, to));
        else return nullptr;
    }
};

/// A facet of a state; what a view asks for.
struct Request {
    StateRef state;  ///< null for facets that belong to no state
    Facet facet;
    /// Whether the state is shown only once this is ready, too.
    bool comes_with_picture() const { return state != nullptr && facet.info().lane == Lane::Prompt && !facet.comes_by_itself(); }
    bool operator==(const Request&) const = default;
};

/// Equal requests have equal hashes.
struct RequestHash {
    std::size_t operator()(const Request& request) const {
        HashMixer mixer{request.facet.hash()};
        mixer.add(request.state.get());
        return mixer.mixed;
    }
};

}  // namespace attn::app
