// SPDX-License-Identifier: MIT
// Reverse-mode automatic differentiation. A Tensor is data. A Var is a Tensor and, if it requires a gradient, an edge to the node
// that produced it. Nodes do not depend on T, so an op can convert between scalar types.
//
// Lifetime: a node owns its parents and a closure; the closure owns Tensors and gradient boxes, never a Var, so there are no
// reference cycles. Node ids increase, so their order is a topological order and nothing needs recursion.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "lexformer/autograd/gradient.hpp"
#include "lexformer/core/compiled.hpp"
#include "lexformer/core/tensor.hpp"
#include "lexformer/kernels/cpu.hpp"

namespace lexformer {

template <class T = float, class Dev = Cpu>
class Var;

/// Computes the gradients of an op's inputs from the gradients of its outputs. Type-erased, so that recording is compiled once, not per op.
template <class To, class Ti, class Dev>
using Backward = std::function<std::vector<Tensor<Ti, Dev>>(const std::vector<Tensor<To, Dev>>&)>;

/// A leaf of a graph that requires a gradient.
struct GraphLeaf {
  const void* id;    // Var::id() of the leaf
  std::string op{};  // an op that reads it; with its module path if the graph was recorded under CheckFinite
  Shape shape{};
  std::uint64_t version = 0;                               // of its value when it was read
  std::shared_ptr<const std::uint64_t> current_version{};  // of its value now

  /// Whether the value was changed in place since the op read it.
  bool changed() const { return current_version != nullptr && *current_version != version; }
};

namespace detail {

/// One op in the graph. `run` takes the gradients of the outputs from their boxes and adds the gradients of the inputs to theirs.
struct Node {
  std::string name;
  std::uint64_t id = next_id();
  std::vector<std::shared_ptr<Node>> parents;
  std::vector<GraphLeaf> leaves;  // the input leaves that require a gradient, for graph_leaves()
  std::function<void()> run;      // empty once it has run
  std::shared_ptr<Node> next;     // see ~Node

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Releases the ancestors iteratively, since a long chain of nodes would overflow the stack. The nodes to release are linked through
  // `next`, because a graph may be destroyed when memory is exhausted and nothing can be allocated.
  ~Node() {
    std::shared_ptr<Node> dying;
    const auto release = [&dying](std::vector<std::shared_ptr<Node>>& nodes) {
      for (auto& node : nodes) {
        if (node.use_count() == 1) {
          node->next = std::move(dying);
          dying = std::move(node);
        }
        node.reset();
      }
    };
    release(parents);
    while (dying) {
      const auto node = std::move(dying);
      dying = std::move(node->next);
      release(node->parents);
    }
  }
  static std::uint64_t next_id();
};

/// Runs the ops from `last_node` back to the leaves, the newest first.
void run_backward(const std::shared_ptr<Node>& last_node);

template <class T, class Dev>
std::vector<GraphLeaf> leaves_after(std::uint64_t first, const Var<T, Dev>& y, const std::string& who);

/// The autograd state of the calling thread.
struct GraphState {
  bool recording = true;
  bool check_finite = false;
  std::vector<std::string> scope;  // names of the running modules, outermost first; recorded only under check_finite
  std::string where(const std::string& op) const {
    std::string path;
    for (const auto& name : scope) path += (path.empty() ? "" : ".") + name;
    return path.empty() ? op : path + ": " + op;
  }
};
GraphState& graph_state();

}  // namespace detail

/// Disables graph recording on this thread during its lifetime.
class NoGrad {
 public:
  NoGrad() : before_(std::exchange(detail::graph_state().recording, false)) {}
  ~NoGrad() { detail::graph_state().recording = before_; }
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// During its lifetime, every op on this thread checks that its results and gradients are finite, and throws Error{numeric} with
/// the names of module and op otherwise. Slow; a training loop repeats a failed step under it to locate the error.
class CheckFinite {
 public:
  CheckFinite() : before_(std::exchange(detail::graph_state().check_finite, true)) {}
  ~CheckFinite() { detail::graph_state().check_finite = before_; }
  CheckFinite(const CheckFinite&) = delete;
  CheckFinite& operator=(const CheckFinite&) = delete;

 private:
  bool before_;
};

/// Names the module that runs during its lifetime, for the messages of CheckFinite.
class NameScope {
 public:
  explicit NameScope(std::string name) : active_(detail::graph_state().check_finite) {
    if (active_) detail::graph_state().scope.push_back(std::move(name));
  }
  ~NameScope() {
    if (active_) detail::graph_state().scope.pop_back();
  }
  NameScope(const NameScope&) = delete;
  NameScope& operator=(const NameScope&) = delete;

 private:
  bool active_;
};

/// A Tensor that a backward closure keeps. Reading it throws if the storage was written to since, e.g. by an optimizer step
/// between forward and backward.
template <class T, class Dev>
class Saved {
 public:
  Saved(Tensor<T, Dev> t) : tensor_(std::move(t)), version_(tensor_.version()) {}
  const Tensor<T, Dev>& operator*() const {
    if (tensor_.version() != version_)
      fail("backward", "a value of shape ", tensor_.shape(),
           " that this gradient needs was changed in place after the forward pass; run the forward pass again");
    return tensor_;
  }
  const Tensor<T, Dev>* operator->() const { return &**this; }

 private:
  Tensor<T, Dev> tensor_;
  std::uint64_t version_;
};

template <class T, class Dev>
class Var {
 public:
  using value_type = T;

  Var() = default;
  /// Creates a leaf: a constant, or with requires_grad a parameter whose gradient backward() stores in grad().
  explicit Var(Tensor<T, Dev> value, bool requires_grad = false) : cell_(std::make_shared<Cell>()) {
    cell_->value = std::move(value);
    if (requires_grad) cell_->box = std::make_shared<Box>();
  }

  /// Whether it has a value: false for Var() and for a Var of an undefined Tensor.
  bool defined() const { return cell_ != nullptr && cell_->value.defined(); }
  /// The value. Errors: it is undefined. All ops read their inputs through this function.
  const Tensor<T, Dev>& value() const {
    if (!cell().value.defined()) fail("Var", "the variable holds an undefined Tensor");
    return cell_->value;
  }
  /// The value of a leaf, to change in place (optimizers, loading). Errors: it is not a leaf.
  Tensor<T, Dev>& mutable_value() {
    if (cell().node) fail("Var::mutable_value", "only a leaf can be changed in place");
    return cell_->value;
  }
  const Shape& shape() const { return value().shape(); }
  std::size_t dim(std::size_t axis) const { return value().dim(axis); }
  std::size_t size() const { return value().size(); }
  T item() const { return value().item(); }

  bool requires_grad() const { return defined() && cell_->box != nullptr; }
  /// Freezes or unfreezes a leaf. Errors: it is not a leaf.
  void set_requires_grad(bool on) {
    if (cell().node) fail("Var::set_requires_grad", "only a leaf can be frozen or unfrozen; use detach()");
    if (on != requires_grad()) cell_->box = on ? std::make_shared<Box>() : nullptr;
  }
  /// Keeps the gradient of this value for grad(), e.g. to see how much the result depends on it. A leaf has its gradient anyway.
  /// Call it before backward(). Errors: the variable does not require a gradient.
  void retain_grad() {
    if (!requires_grad()) fail("Var::retain_grad", "this variable does not require a gradient");
    cell_->box->kept = true;
  }
  /// The gradient accumulated by backward(); undefined before that, or if this is not a leaf and retain_grad() was not called.
  /// Errors: the variable does not require a gradient.
  const Tensor<T, Dev>& grad() const {
    if (!requires_grad()) fail("Var::grad", "this variable does not require a gradient");
    cell_->box->make_dense();
    return cell_->box->grad;
  }
  void set_grad(Tensor<T, Dev> g) {
    if (!requires_grad()) fail("Var::set_grad", "this variable does not require a gradient");
    if (g.defined() && !(g.shape() == shape())) fail("Var::set_grad", "gradient ", g.shape(), " for a variable of shape ", shape());
    cell_->box->set(std::move(g));
  }
  void clear_grad() {
    if (requires_grad()) cell_->box->set({});
  }
  /// Whether it requires a gradient and backward() has stored one.
  bool has_grad() const { return requires_grad() && cell_->box->defined(); }
  /// For optimizers: the gradient in the form in which it was accumulated, a Tensor or the rows of a table. Null if no gradient is
  /// required.
  const std::shared_ptr<detail::GradBox<T, Dev>>& grad_box() const { return cell().box; }
  bool is_leaf() const { return !cell().node; }
  /// Identifies the variable: the same for all copies; null if it does not require a gradient.
  const void* id() const { return defined() ? cell_->box.get() : nullptr; }
  /// A constant with the same value, without history.
  Var detach() const { return Var(value()); }

  /// Adds d(this)/d(leaf) to the gradient of every leaf that requires one. This variable must have one element, or `cotangent` (of
  /// its shape) gives dL/d(this). The graph is consumed: a second backward() through the same ops throws, and what it has
  /// added to gradients before stays.
  void backward() const {
    if (size() != 1) fail("backward", "the variable has shape ", shape(), "; without a cotangent it must have one element");
    backward(Tensor<T, Dev>::ones(shape()));
  }
  void backward(Tensor<T, Dev> cotangent) const {
    if (!requires_grad()) fail("backward", "the variable does not require a gradient (is a NoGrad alive, or are all parameters frozen?)");
    if (!cotangent.defined()) fail("backward", "the cotangent is undefined; expected a tensor of shape ", shape());
    if (!(cotangent.shape() == shape())) fail("backward", "cotangent ", cotangent.shape(), " for a variable of shape ", shape());
    cell_->box->add(std::move(cotangent));
    detail::run_backward(cell_->node);
  }

 private:
  using Box = detail::GradBox<T, Dev>;
  struct Cell {
    Tensor<T, Dev> value;
    std::shared_ptr<Box> box;            // null: no gradient
    std::shared_ptr<detail::Node> node;  // null: a leaf
  };
  const Cell& cell() const {
    if (!cell_) fail("Var", "the variable is undefined");
    return *cell_;
  }
  std::shared_ptr<Cell> cell_;

  template <class U, class D>
  friend class Var;
  template <class To, class Ti, class D>
  friend std::vector<Var<To, D>> record_all(const char*, std::vector<Tensor<To, D>>, const std::vector<Var<Ti, D>>&,
                                            std::type_identity_t<Backward<To, Ti, D>>, bool, std::vector<GraphLeaf>);
  template <class U, class D>
  friend std::vector<GraphLeaf> detail::leaves_after(std::uint64_t, const Var<U, D>&, const std::string&);
};

/// Whether an op of these inputs is recorded, so that it has to keep what their gradients need.
template <class T, class Dev>
bool is_recorded(const std::vector<Var<T, Dev>>& inputs) {
  for (const auto& x : inputs)
    if (x.requires_grad()) return detail::graph_state().recording;
  return false;
}

/// Records an op: turns its outputs into Vars. `backward` is called at most once with the gradients of the outputs, in order
/// (undefined if nothing depends on an output), and returns the gradients of the inputs, in order (undefined = none).
/// It must capture Tensors (Saved if they can change), never a Var. With `adds_to_first`, it gets one more Tensor after the gradients
/// of the outputs: the gradient of the first input so far, which it may write to, or undefined; it returns the sum of that and its own. (If
/// it throws, that gradient is lost.) `more_leaves`: leaves besides the inputs to which `backward` itself adds gradients.
template <class To, class Ti, class Dev>
std::vector<Var<To, Dev>> record_all(const char* name, std::vector<Tensor<To, Dev>> outputs, const std::vector<Var<Ti, Dev>>& inputs,
                                     std::type_identity_t<Backward<To, Ti, Dev>> backward, bool adds_to_first = false,
                                     std::vector<GraphLeaf> more_leaves = {}) {
  auto& state = detail::graph_state();
  if (state.check_finite)
    for (const auto& y : outputs)
      if (!Kernels<Dev>::all_finite(y.size(), y.data())) fail_numeric(state.where(name), "the result is not finite, shape ", y.shape());
  std::vector<Var<To, Dev>> result;
  for (auto& y : outputs) result.emplace_back(std::move(y));
  if (!is_recorded(inputs) && (!state.recording || more_leaves.empty())) return result;

  auto node = std::make_shared<detail::Node>();
  node->name = state.check_finite ? state.where(name) : name;
  node->leaves = std::move(more_leaves);
  std::vector<std::shared_ptr<detail::GradBox<To, Dev>>> out;
  for (auto& y : result) {
    y.cell_->node = node;
    out.push_back(y.cell_->box = std::make_shared<detail::GradBox<To, Dev>>());
  }
  std::vector<std::shared_ptr<detail::GradBox<Ti, Dev>>> in;
  std::vector<Shape> shapes;
  for (const auto& x : inputs) {
    in.push_back(x.requires_grad() ? x.cell_->box : nullptr);
    shapes.push_back(x.defined() ? x.shape() : Shape{});
    node->parents.push_back(x.requires_grad() ? x.cell_->node : nullptr);
    if (x.requires_grad() && !x.cell_->node)
      node->leaves.push_back({x.id(), node->name, x.shape(), x.value().version(), x.value().version_counter()});
  }
  node->run = [label = node->name, check = state.check_finite, out = std::move(out), in = std::move(in), shapes = std::move(shapes),
               backward = std::move(backward), adds_to_first] {
    std::vector<Tensor<To, Dev>> dy;
    bool reached = false;
    for (const auto& box : out) {
      dy.push_back(box->of_output());
      reached = reached || dy.back().defined();
    }
    if (!reached) return;
    if (adds_to_first) {
      if constexpr (std::is_same_v<To, Ti>) dy.push_back(in[0] && in[0]->grad.unique() ? in[0]->take() : Tensor<Ti, Dev>{});
    }
    std::vector<Tensor<Ti, Dev>> dx = backward(std::as_const(dy));
    if (dx.size() != in.size()) fail(label, "backward returned ", dx.size(), " gradients for ", in.size(), " inputs");
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!in[i] || !dx[i].defined()) continue;
      if (!(dx[i].shape() == shapes[i])) fail(label, "backward returned a gradient ", dx[i].shape(), " for an input ", shapes[i]);
      if (check && !Kernels<Dev>::all_finite(dx[i].size(), dx[i].data()))
        fail_numeric(label, "the gradient of input ", i, " is not finite, shape ", shapes[i]);
      in[i]->add(std::move(dx[i]));
    }
  };
  return result;
}

// Explicit instances: defined in lexformer::compiled (word empty), declared `extern` in programs that link it.
#define LEXFORMER_RECORD(word, To, Ti)                             \
  word template std::vector<Var<To, Cpu>> record_all<To, Ti, Cpu>( \
      const char*, std::vector<Tensor<To, Cpu>>, const std::vector<Var<Ti, Cpu>>&, Backward<To, Ti, Cpu>, bool, std::vector<GraphLeaf>);
#if defined(LEXFORMER_COMPILED)
extern template struct detail::GradBox<float, Cpu>;
extern template struct detail::GradBox<double, Cpu>;
LEXFORMER_RECORD(extern, float, float)
LEXFORMER_RECORD(extern, double, double)
#endif

/// record_all for an op with one output: `backward(dy)` returns the gradients of the inputs.
template <class To, class Ti, class Dev>
Var<To, Dev> record(const char* name, Tensor<To, Dev> y, const std::vector<Var<Ti, Dev>>& inputs,
                    std::type_identity_t<std::function<std::vector<Tensor<Ti, Dev>>(const Tensor<To, Dev>&)>> backward) {
  std::vector<Tensor<To, Dev>> outputs{std::move(y)};
  return record_all(name, std::move(outputs), inputs,
                    [f = std::move(backward)](const std::vector<Tensor<To, Dev>>& dy) { return f(dy[0]); })[0];
}

namespace detail {

/// graph_leaves(y). Errors: y depends on an op before `first`; the message begins with `who`.
template <class T, class Dev>
std::vector<GraphLeaf> leaves_after(std::uint64_t first, const Var<T, Dev>& y, const std::string& who) {
  if (!y.requires_grad()) return {};
  if (!y.cell_->node) return {{y.id(), "", y.shape(), y.value().version(), y.value().version_counter()}};
  std::vector<GraphLeaf> found;
  std::unordered_set<const void*> seen;
  std::vector<const Node*> open{y.cell_->node.get()};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    if (node.id < first) fail(who, "reads a result of '", node.name, "' that is not one of its inputs");
    for (const GraphLeaf& leaf : node.leaves)
      if (seen.insert(leaf.id).second) found.push_back(leaf);
    for (const auto& parent : node.parents)
      if (parent && seen.insert(parent.get()).second) open.push_back(parent.get());
  }
  return found;
}

}  // namespace detail

/// The leaves that y depends on and that require a gradient, each once. Can be called before or after backward(), while y exists.
template <class T, class Dev>
std::vector<GraphLeaf> graph_leaves(const Var<T, Dev>& y) {
  return detail::leaves_after(0, y, "graph_leaves");
}

}  // namespace lexformer

#if LEXFORMER_BODIES
#include <atomic>
#include <queue>

namespace lexformer::detail {

// Here, so that all shared libraries of a process use the same counter and state.
LEXFORMER_INLINE std::uint64_t Node::next_id() {
  static std::atomic<std::uint64_t> counter{0};
  return ++counter;
}
LEXFORMER_INLINE GraphState& graph_state() {
  thread_local GraphState state;
  return state;
}

LEXFORMER_INLINE void run_backward(const std::shared_ptr<Node>& last_node) {
  const auto older = [](const auto& a, const auto& b) { return a->id < b->id; };
  std::priority_queue<std::shared_ptr<Node>, std::vector<std::shared_ptr<Node>>, decltype(older)> queue(older);
  if (last_node) queue.push(last_node);
  std::uint64_t last = ~std::uint64_t{0};
  while (!queue.empty()) {
    const auto node = queue.top();
    queue.pop();
    if (node->id == last) continue;  // reached over several edges
    last = node->id;
    if (!node->run)
      fail("backward", "the saved values of op '", node->name, "' were freed by an earlier backward(); run the forward pass again");
    const auto run = std::exchange(node->run, nullptr);
    run();
    for (const auto& parent : node->parents)
      if (parent) queue.push(parent);
  }
}

}  // namespace lexformer::detail
#endif
