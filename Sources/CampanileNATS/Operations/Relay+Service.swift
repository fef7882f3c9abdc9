#if NATS
  public import CampanileRelay
  public import ServiceLifecycle

  extension Relay: Service {
    /// Waits for the service group's graceful shutdown, and then drains the relay.
    ///
    /// ```swift
    /// let group = ServiceGroup(services: [relay], logger: logger)
    /// ```
    ///
    /// If the task is canceled, the relay ends at once.
    public func run() async throws {
      do {
        try await gracefulShutdown()
        await withTaskCancellationHandler {
          await drain()
        } onCancel: {
          cancel()
        }
      } catch {
        cancel()
      }
    }
  }
#endif
