/// An actor that runs on a given executor.
actor ExecutorActor {
  private nonisolated let executor: any SerialExecutor

  init(_ executor: any SerialExecutor) { self.executor = executor }

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    // SAFETY: the actor keeps the executor, and what runs on the actor keeps the actor.
    unsafe executor.asUnownedSerialExecutor()
  }
}
