# The objects are in the cluster already. Remove this file when they are imported.
import {
  to = kubernetes_manifest.web
  id = "apiVersion=apps/v1,kind=Deployment,namespace=shop,name=web"
}

import {
  to = kubectl_manifest.web
  id = "v1//Service//web//shop"
}
