import Campanile

/// Takes changes that other threads make on main-actor key paths to the main actor.
enum MainHop {
  private static let posts: SourceList<OwnerReference<Evaluation>> = {
    let posts = SourceList(of: OwnerReference<Evaluation>.self)
    let request = ObservationRequest(on: MainDelivery.main(ordered: true).delivery)
    _ = posts.register(request, ObserverBody { $0.object?.makeNewestCall() })
    return posts
  }()

  static func post(_ evaluation: Evaluation) { posts.post(OwnerReference(evaluation)) }
}
