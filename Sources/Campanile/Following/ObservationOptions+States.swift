extension ObservationOptions where Source: ValueChangeSource {
  /// Begins with a call that carries the value now, or the newest one if the call is made later.
  ///
  /// The call is made on the observer's delivery, in its turn among the changes: before `observe`
  /// returns if the delivery is immediate, or if the caller is on the delivery's target and a post
  /// from there would run the observer inline, unless the state is computing or delivering a change at
  /// that moment. A delivery that always queues makes the call later: one with `ordered: true`, one with
  /// a bounded buffer, or one to an actor, an executor, a global queue or an asynchronous observer. Of
  /// ``StateSource/changes``, it carries a change whose old value is `nil`.
  public static var initial: Self { Self(SourceOptions(isInitial: true)) }
}

extension ObservationOptions where Source: ValueChangeSource, Source.Value: Equatable {
  /// Leaves out a value that is equal to the one that the observer received last.
  ///
  /// An observer without `.initial` compares its first value with that at its registration. `==` runs
  /// where the observer runs, while no lock is held. If the value is an object that is changed in place,
  /// both are that object, so the change is left out. A value that is not equal to itself, such as a
  /// floating-point NaN, is never left out, so two states that set each other to it never come to rest.
  public static var distinct: Self {
    Self(SourceOptions(comparison: Comparison<Source.Value> { $0 == $1 }))
  }
}
