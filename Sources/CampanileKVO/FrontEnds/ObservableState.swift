public import Campanile
public import Observation

/// A state that the standard Observation can track.
///
/// Use it with `withObservationTracking`, with `Observations`, and in the body of a SwiftUI view,
/// which is evaluated again when the state has changed.
///
/// ```swift
/// struct PlayButton: View {
///   @State private var isPlaying: ObservableState<Bool>
///
///   init(_ player: Player) {
///     _isPlaying = State(initialValue: ObservableState(player.isPlaying))
///   }
///
///   var body: some View { Image(systemName: isPlaying.value ? "pause" : "play") }
/// }
/// ```
///
/// Create it where the screen begins, and keep it in a `@State`, or in a property of a model. A
/// `@State` keeps the first one for as long as the view is shown; those of later `init`s of the
/// view are released at once. Do not create one in a body, because each evaluation of the body
/// would begin an observation.
///
/// It follows the state on the main actor, from its creation until its release, and keeps the state
/// alive. A change arrives as soon as the main actor is free: before the setter returns, if the
/// change is made on the main actor and no other delivery waits there.
@MainActor
public final class ObservableState<Value: Sendable>: Observable {
  private let registrar = ObservationRegistrar()
  private let state: ReadOnlyState<Value>
  private var newest: Value

  /// The newest value that has arrived on the main actor.
  public var value: Value {
    registrar.access(self, keyPath: \.value)
    return newest
  }

  /// Follows a state: a `CurrentValue`, a `ReadOnlyState`, or a state derived from others.
  ///
  /// - Parameters:
  ///   - state: The state to follow.
  ///   - file: The caller's file, for descriptions.
  ///   - line: The caller's line.
  public init(
    _ state: some StateSource<Value>, file: StaticString = #fileID, line: UInt = #line
  ) {
    self.state = state.readOnly
    newest = state.value
    // `.initial`, so that no change between reading the value and observing is missed.
    state.observe(owner: self, on: .main, options: .initial, file: file, line: line) { me, value in
      me.registrar.withMutation(of: me, keyPath: \.value) { me.newest = value }
    }
  }
}
